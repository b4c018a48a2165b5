"""What keeps a conversation inside its model's window: edits of the view that gain, keep the user's words, and can be undone."""
