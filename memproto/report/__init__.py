"""What a run leaves for its readers: messages and documents."""
