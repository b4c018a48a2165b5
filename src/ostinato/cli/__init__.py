"""The command: flags in, one query of the engine, events out as text or JSON. A front end only renders."""
