"""From the view to a legal request: one normaliser for the main loop, compaction, side questions, subagents and resume."""
