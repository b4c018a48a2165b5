"""A decision in one or two plain sentences, for people and for the model. Characters that do not show are escaped."""

from typing import assert_never

from ostinato.permissions.verdict import Allow, Ask, Deny, Verdict
from ostinato.visible_text import visible_line


def explain(verdict: Verdict) -> str:
    """What was decided and by which rule or proof."""
    text = visible_line(verdict.reason.text)
    match verdict:
        case Allow():
            return f"Allowed: {text}."
        case Deny():
            return f"Denied: {text}."
        case Ask(suggestions=suggestions):
            rules = ", ".join(f"`{visible_line(rule)}`" for rule in suggestions)
            hint = f" To allow it from now on: {rules}." if rules else ""
            return f"Needs a yes: {text}.{hint}"
        case _:
            assert_never(verdict)
