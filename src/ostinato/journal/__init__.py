"""Sessions on disk: one file each, appended to by one writer, read back as the history that was live when it ended."""
