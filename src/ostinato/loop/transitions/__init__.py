"""One function per outcome: what is added to the history, and whether the query goes on (and why) or ends (and why)."""
