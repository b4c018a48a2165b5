"""Notices that a model goes round in circles: first it is told, later the user is asked, or the query ends."""
