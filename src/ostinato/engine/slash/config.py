"""`/config`: the settings in force with the file that each comes from, what waits for trust, and what was left out."""

from collections.abc import Iterable

from ostinato.config.show import show_text
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SettingsInForce, SlashScene
from ostinato.engine.slash.shown_text import shown_line


async def answer_config(scene: SlashScene, _arguments: str) -> SlashReply:
    if scene.settings is None:
        return SlashReply("no settings are in force\n")
    return SlashReply("".join(_parts(scene.settings)))


def _parts(settings: SettingsInForce) -> Iterable[str]:
    text = show_text(settings.effective, with_origin=True)
    yield text or "no settings are in force\n"
    for problem in settings.problems:
        hint = f"; {problem.hint}" if problem.hint else ""
        yield f"# left out: {shown_line(f'{problem}{hint}', 500)}\n"
