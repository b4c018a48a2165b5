"""How an error looks to a person: what and which, then a hint. No trace unless asked for."""


def error_text(message: str, hint: str = "") -> str:
    """`error: …`, an empty line, `hint: …`; ends with a line end."""
    return f"error: {message}\n\nhint: {hint}\n" if hint else f"error: {message}\n"
