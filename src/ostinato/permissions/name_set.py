"""Sets of names written as one line of text, so that tables of programs and options stay readable."""


def names(text: str) -> frozenset[str]:
    """The words of `text`, separated by blanks."""
    return frozenset(text.split())
