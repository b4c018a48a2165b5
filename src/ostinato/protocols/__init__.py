"""How other programs see a query: the engine's events in the forms that existing clients read."""
