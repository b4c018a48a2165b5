"""`/permissions`: the mode, every rule with its source, what was denied in this session; and why a command may or may not run."""

import shlex
from collections.abc import Iterable
from typing import Final

from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.history import History
from ostinato.messages import AssistantMessage
from ostinato.permissions.call_report import report_call
from ostinato.permissions.report_text import report_text
from ostinato.permissions.typed_call import MAIN_PARAMETERS, typed_call
from ostinato.records import PermissionDecided

MAX_DENIALS: Final = 50
_CHARACTERS: Final = 300


async def answer_permissions(scene: SlashScene, arguments: str) -> SlashReply:
    if not arguments:
        return SlashReply(
            "".join((f"mode: {scene.permission_mode}\n", *_rules(scene), *_denials(scene.history)))
        )
    verb, tool, what = _asked(arguments)
    if verb != "explain" or not what:
        return refusal(
            f"`/permissions` does not know `{shown_line(arguments, 40)}`",
            hint='write `/permissions`, `/permissions explain "git push"` or `/permissions explain Edit src/a.py`',
        )
    cwd, roots = scene.workspace.cwd, scene.workspace.roots
    call = typed_call(tool, what, cwd=cwd, roots=roots, home=scene.places.home)
    return SlashReply(report_text(report_call(call, scene.policy)))


def _asked(arguments: str) -> tuple[str, str, str]:
    """The verb, the tool (Bash if none is named), and what it is about; quotes around all of that are taken away."""
    verb, _, rest = arguments.partition(" ")
    tool, _, what = rest.strip().partition(" ")
    if tool not in MAIN_PARAMETERS:
        tool, what = "Bash", rest
    what = what.strip()
    try:
        words = shlex.split(what)
    except ValueError:
        return verb, tool, what
    return verb, tool, words[0] if len(words) == 1 else what


def _rules(scene: SlashScene) -> Iterable[str]:
    if not scene.policy.rules:
        yield "no rules\n"
    for behaviour in ("deny", "ask", "allow"):
        for rule in scene.policy.rules:
            if rule.behaviour == behaviour:
                yield f"{behaviour:5}  {shown_line(str(rule), _CHARACTERS)}  # {shown_line(rule.source, _CHARACTERS)}\n"


def _denials(history: History) -> Iterable[str]:
    """The newest, in order, with what was wanted; a resumed session remembers its own."""
    log = history.log()
    denied = [one for one in log if isinstance(one, PermissionDecided) and one.behaviour == "deny"]
    if not denied:
        yield "nothing was denied in this session\n"
        return
    wanted = {
        call.id: call
        for message in log
        if isinstance(message, AssistantMessage)
        for call in message.tool_uses
    }
    yield f"denied in this session: {len(denied)}\n"
    for one in denied[-MAX_DENIALS:]:
        call = wanted.get(one.tool_use_id)
        texts = () if call is None else (value for value in call.input.values() if isinstance(value, str))
        target = one.wanted or next(iter(texts), "")
        yield f"  {one.tool_name}({shown_line(target, 100)}): {shown_line(_why(one), 200)}\n"


def _why(denied: PermissionDecided) -> str:
    """In words where no rule stands behind it that could be looked up."""
    match denied.rule, denied.source:
        case "can_use_tool", "caller":
            return "asked for, and the answer was no"
        case "", "default":
            return "no rule covers it, and nobody was asked"
        case mode, "mode":
            return f"the mode `{mode}`"
        case rule, source:
            return " of ".join(filter(None, (rule, source)))
