"""A decision in one or two plain sentences, for people and for the model. Characters that do not show are escaped."""

from typing import assert_never

from ostinato.permissions.shell_reader import is_hidden
from ostinato.permissions.verdict import Allow, Ask, Deny, Verdict


def explain(verdict: Verdict) -> str:
    """What was decided and by which rule or proof."""
    text = shown(verdict.reason.text)
    match verdict:
        case Allow():
            return f"Allowed: {text}."
        case Deny():
            return f"Denied: {text}. Do not try to reach the same end another way; say what you need instead."
        case Ask(suggestions=suggestions):
            rules = ", ".join(f"`{shown(rule)}`" for rule in suggestions)
            hint = f" To allow it from now on: {rules}." if rules else ""
            return f"Needs a yes: {text}.{hint}"
        case _:
            assert_never(verdict)


def shown(text: str) -> str:
    """`text` on one line with every character visible: controls, odd blanks and bidi marks become `\\u…`."""
    return "".join(_shown_character(character) for character in text)


def _shown_character(character: str) -> str:
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    if not is_hidden(character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
