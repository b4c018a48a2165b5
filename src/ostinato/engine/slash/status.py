"""`/status`: what this conversation is made of, on one screen."""

from collections.abc import Iterable

from ostinato.config.trust import Trusted
from ostinato.engine.slash.model import unusable_model
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line, shown_path


async def answer_status(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply("".join(f"{name:9} {value}\n" for name, value in _facts(scene)))


def _facts(scene: SlashScene) -> Iterable[tuple[str, str]]:
    home = scene.places.home
    yield "model", _model(scene)
    yield "folder", shown_path(scene.workspace.cwd, home)
    for root in scene.workspace.roots[1:]:
        yield "", shown_path(root, home)
    yield "session", shown_line(scene.session_id, 130)
    yield "mode", scene.permission_mode
    yield "trust", _trust(scene)
    sources = () if scene.settings is None else scene.settings.sources
    yield "settings", ", ".join(shown_path(path, home) for path in sources) or "no settings files"
    yield "MCP", "none"
    yield "sandbox", "none: commands run with your rights"


def _model(scene: SlashScene) -> str:
    if scene.model_problem is not None:
        return unusable_model(scene.model, scene.model_problem)
    return shown_line(f"{scene.model.provider}/{scene.model.id}", 200)


def _trust(scene: SlashScene) -> str:
    trust = scene.trust
    if trust is None or not trust.things.digests:
        return "the project brings nothing that could act"
    count = len(trust.things.digests)
    if isinstance(trust, Trusted):
        return f"trusted ({count} things that could act)"
    if trust.was_trusted:
        changed = ", ".join(shown_line(change.name, 60) for change in trust.changed[:3])
        return f"not trusted any more: {len(trust.changed)} things changed ({changed})"
    return f"not trusted: {count} things of the project that could act do not"
