"""Memory that a Honcho server keeps."""
