"""The built-in tools, one a file with its prompt beside it; they reach the machine through the Workspace port."""
