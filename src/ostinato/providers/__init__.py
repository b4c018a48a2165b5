"""Adapters that speak to models: one wire a file, its wire structs beside it. No adapter knows the loop."""
