"""`/config`: the settings in force with the file that each comes from, what waits for trust, and what was left out."""

from collections.abc import Iterable

from ostinato.config.show import NO_SETTINGS, show_text
from ostinato.engine.slash.given_answers import GivenAnswers, given_answers
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SettingsInForce, SlashScene
from ostinato.engine.slash.shown_text import shown_line


async def answer_config(scene: SlashScene, _arguments: str) -> SlashReply:
    settings = "" if scene.settings is None else "".join(_parts(scene.settings))
    answers = "".join(_answered(await given_answers(scene)))
    return SlashReply(f"{settings}{answers}" or NO_SETTINGS)


def _parts(settings: SettingsInForce) -> Iterable[str]:
    text = show_text(settings.effective, with_origin=True)
    if text != NO_SETTINGS:
        yield text
    for problem in settings.problems:
        hint = f"; {problem.hint}" if problem.hint else ""
        yield f"# left out: {shown_line(f'{problem}{hint}', 500)}\n"


def _answered(answers: GivenAnswers) -> Iterable[str]:
    """What no file had when the conversation began."""
    kept_in = f"your answer, kept in {shown_line(str(answers.file), 500)}"
    for rules, where in ((answers.kept, kept_in), (answers.not_kept, "your answer, for this conversation")):
        yield from (f"permissions.allow has {shown_line(rule, 300)}  # {where}\n" for rule in rules)
