"""Where tools touch the machine: child processes and files, bounded and cleaned up whatever happens."""
