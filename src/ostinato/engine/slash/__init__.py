"""What a line that begins with a slash means: answered here, or turned into a prompt, before any model sees it."""
