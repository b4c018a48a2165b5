"""`/memory`: which instruction files the model was given, from where, how big, and what was left out and why."""

from collections.abc import Iterable

from ostinato.attachments.instruction_report import instructions_report
from ostinato.attachments.nested_instructions import SOURCE
from ostinato.attachments.told import told_keys
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_path


async def answer_memory(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply("".join(f"{line}\n" for line in _lines(scene)))


def _lines(scene: SlashScene) -> Iterable[str]:
    if scene.model.short_prompt:
        yield "this model is given none: its window is small"
        return
    yield instructions_report(scene.instructions)
    attached = told_keys(scene.history.view(), SOURCE)
    if attached:
        yield "attached when a file they are meant for was touched, and still before the model"
    for key in sorted(attached):
        yield f"  {shown_path(key)}"
