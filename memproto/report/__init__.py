"""Messages and documents that a run leaves for its readers."""
