"""Settings files and trust: what is set, where each value comes from, and what a project may do before a yes."""
