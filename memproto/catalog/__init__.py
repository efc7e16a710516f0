"""The gate of a catalog of plugins: an entry, its checkout, and what was declared of it."""
