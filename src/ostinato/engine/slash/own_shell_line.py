"""A line behind `!`: the user's own command. What it prints is shown, and told the model with the next prompt.

Typing it is the yes to it; rules that deny or ask still hold. One that was interrupted is told with what it had printed by then.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shell_lines import NotRun, run_shell_line
from ostinato.engine.slash.shown_text import shown_line
from ostinato.messages import user_prompt
from ostinato.permissions.rules import Rule, parse_rule

TIMEOUT_MS: Final = 600_000
MAX_KEPT_CHARACTERS: Final = 10_000
"""Of the output of a command that was interrupted: its end."""

_REASON_CHARACTERS: Final = 500
_BEGINNING: Final = "I ran this command myself, in the working folder:\n$ "
_PRINTED: Final = "It printed"
_STOPPED: Final = "I stopped it; by then it had printed"
_BY_THE_PERSON: Final = frozenset({"user", "interrupt"})


async def answer_shell_line(
    command: str, scene: SlashScene, on_output: Callable[[str, str], None]
) -> SlashReply:
    """Run it in the working folder; an interrupt ends it. `on_output` gets the command and what it printed newly."""
    if not command.strip():
        return refusal("there is no command behind the `!`", hint="`!git status` runs git here")
    so_far = _SoFar(partial(on_output, command))
    try:
        ran = await run_shell_line(command, (_typed(),), scene, timeout_ms=TIMEOUT_MS, on_output=so_far.take)
    finally:
        if so_far.has_begun and scene.abort.reason in _BY_THE_PERSON:
            scene.record(user_prompt(scene.uuid(), _told(command, so_far.text, _STOPPED)))
    if isinstance(ran, NotRun):
        return refusal(f"it did not run: {shown_line(ran.reason, _REASON_CHARACTERS)}", hint=ran.hint)
    return SlashReply(f"{ran.text}\n", for_model=_told(command, ran.text, _PRINTED))


class _SoFar:
    """What a command printed until now, at most the end of it."""

    def __init__(self, pass_on: Callable[[str], None]) -> None:
        self._pass_on = pass_on
        self.has_begun = False
        self.text = ""

    def take(self, printed: str) -> None:
        self.has_begun = True
        self.text = (self.text + printed)[-MAX_KEPT_CHARACTERS:]
        self._pass_on(printed)


def as_typed(told: str) -> str:
    """What the model was told of such a line, as the line and what it printed; any other text as it is."""
    if not told.startswith(_BEGINNING):
        return told
    line = told.removeprefix(_BEGINNING)
    for how in (_PRINTED, _STOPPED):
        line = line.replace(f"\n{how}:\n", "\n", 1)
    return f"!{line}"


def _told(command: str, printed: str, how: str) -> str:
    return f"{_BEGINNING}{command}\n{how}:\n{printed or '[nothing]'}"


def _typed() -> Rule:
    return parse_rule("Bash", "allow", "the line that was typed")
