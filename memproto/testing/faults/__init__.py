"""Backends that fail: servers on loopback that stand in the place of a provider's own."""
