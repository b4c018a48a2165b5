"""What the model should also know beside what was said: instruction files, mentioned files, changes on disk, the date."""
