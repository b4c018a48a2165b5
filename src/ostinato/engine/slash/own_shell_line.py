"""A line behind `!`: the user's own command. What it printed is shown, and told the model with the next prompt.

Typing it is the yes to it; rules that deny or ask still hold.
"""

from typing import Final

from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shell_lines import NotRun, run_shell_line
from ostinato.engine.slash.shown_text import shown_line
from ostinato.permissions.rules import Rule, parse_rule

TIMEOUT_MS: Final = 600_000
_REASON_CHARACTERS: Final = 500


async def answer_shell_line(command: str, scene: SlashScene) -> SlashReply:
    """Run it in the working folder; an interrupt ends it."""
    if not command.strip():
        return refusal("there is no command behind the `!`", hint="`!git status` runs git here")
    ran = await run_shell_line(command, (_typed(),), scene, timeout_ms=TIMEOUT_MS)
    if isinstance(ran, NotRun):
        return refusal(f"it did not run: {shown_line(ran.reason, _REASON_CHARACTERS)}", hint=ran.hint)
    told = f"I ran this command myself, in the working folder:\n$ {command}\nIt printed:\n{ran.text}"
    return SlashReply(f"{ran.text}\n", for_model=told)


def _typed() -> Rule:
    return parse_rule("Bash", "allow", "the line that was typed")
