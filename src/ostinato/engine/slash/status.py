"""`/status`: what this conversation is made of, on one screen."""

from collections.abc import Iterable

from ostinato.config.places import LOCAL_FILE
from ostinato.config.trust import Trusted
from ostinato.config.waiting import waiting
from ostinato.engine.slash.given_answers import GivenAnswers, given_answers
from ostinato.engine.slash.model import unusable_model
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line, shown_path


async def answer_status(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply(
        "".join(f"{name:9} {value}\n" for name, value in _facts(scene, await given_answers(scene)))
    )


def _facts(scene: SlashScene, answers: GivenAnswers) -> Iterable[tuple[str, str]]:
    home = scene.places.home
    yield "model", _model(scene)
    yield "folder", shown_path(scene.workspace.cwd, home)
    for root in scene.workspace.roots[1:]:
        yield "", shown_path(root, home)
    yield "session", shown_line(scene.session_id, 130)
    yield "mode", scene.permission_mode
    yield "trust", _trust(scene, answers)
    sources = () if scene.settings is None else tuple(scene.settings.sources)
    if answers.kept and answers.file not in sources:
        sources = (*sources, answers.file)
    yield "settings", ", ".join(shown_path(path, home) for path in sources) or "no settings files"
    yield "MCP", "none"
    yield "sandbox", "none: commands run with your rights"


def _model(scene: SlashScene) -> str:
    if scene.model_problem is not None:
        return unusable_model(scene.model, scene.model_problem)
    return shown_line(f"{scene.model.provider}/{scene.model.id}", 200)


def _trust(scene: SlashScene, answers: GivenAnswers) -> str:
    trust = scene.trust
    if trust is None or not trust.things.digests:
        if answers.kept:
            return f"trusted, with {LOCAL_FILE}: the rules that your answers made"
        return "the project brings nothing along that could act"
    if isinstance(trust, Trusted):
        count = len(trust.things.digests)
        return f"trusted, with {count} {'file' if count == 1 else 'files'}"
    if trust.was_trusted:
        changed = ", ".join(shown_line(change.name, 60) for change in trust.changed[:3])
        count = len(trust.changed)
        return f"not trusted any more: {count} {'thing' if count == 1 else 'things'} changed ({changed})"
    withheld = () if scene.settings is None else scene.settings.effective.withheld
    kinds = ", ".join(part.kind for part in waiting(withheld, trust.things))
    if not kinds:
        return "not trusted, but nothing waits: its settings only forbid or ask"
    return f"not trusted, and does not act: {kinds}"
