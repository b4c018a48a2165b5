"""What was typed while work goes on and waits, as lines above the prompt."""

from collections.abc import Sequence
from typing import Final

from ostinato.cli.terminal_style import DIM, Painter, cut_to
from ostinato.submissions import QueuedPrompt
from ostinato.visible_text import one_line

MAX_SHOWN: Final = 3
_MAX_CHARACTERS: Final = 500


def queued_lines(waiting: Sequence[QueuedPrompt], columns: int, paint: Painter) -> list[str]:
    """The first few, and how many more there are. Up takes the last one back, which is said beside it."""
    shown = waiting if len(waiting) <= MAX_SHOWN else waiting[: MAX_SHOWN - 1]
    lines = [cut_to(f"queued: {one_line(prompt.text, _MAX_CHARACTERS)}", columns) for prompt in shown]
    if len(waiting) > len(shown):
        lines.append(cut_to(f"queued: {len(waiting) - len(shown):,} more (Up takes the last back)", columns))
    return [paint(DIM, line) for line in lines]
