"""A conversation as a program holds it; `assemble.py` alone knows every adapter."""
