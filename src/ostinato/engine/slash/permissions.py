"""`/permissions`: the mode, every rule with its source, what was denied in this session; and why a command may or may not run."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ostinato.engine.gate import call_facts, is_read_only_shell
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.history import History
from ostinato.messages import AssistantMessage
from ostinato.permissions.decision import decide
from ostinato.permissions.explanation import explain
from ostinato.records import PermissionDecided

MAX_DENIALS: Final = 50
_CHARACTERS: Final = 300
_NO_HOME: Final = Path("/nonexistent")


async def answer_permissions(scene: SlashScene, arguments: str) -> SlashReply:
    if not arguments:
        return SlashReply(
            "".join((f"mode: {scene.permission_mode}\n", *_rules(scene), *_denials(scene.history)))
        )
    word, _, rest = arguments.partition(" ")
    command = _command(rest.strip())
    if word != "explain" or not command:
        return refusal(
            f"`/permissions` does not know `{shown_line(arguments, 40)}`",
            hint='write `/permissions`, or `/permissions explain "git push"`',
        )
    return SlashReply(f"{_explanation(command, scene)}\n")


def _command(text: str) -> str:
    """What is in quotes as a whole is meant without them."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text


def _explanation(command: str, scene: SlashScene) -> str:
    facts = call_facts(
        "Bash",
        {"command": command},
        scene.workspace,
        home=scene.places.home or _NO_HOME,
        is_read_only=is_read_only_shell(command),
        paths=((), ()),
    )
    return explain(decide(facts, scene.policy))


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
        target = "" if call is None else next((v for v in call.input.values() if isinstance(v, str)), "")
        why = " of ".join(filter(None, (one.rule, one.source)))
        yield f"  {one.tool_name}({shown_line(target, 100)}): {shown_line(why, 200)}\n"
