"""`/memory`: which instruction files the model was given, from where, how big, and what was left out and why."""

from ostinato.attachments.instruction_report import instructions_report
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene


async def answer_memory(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply(f"{instructions_report(scene.instructions)}\n")
