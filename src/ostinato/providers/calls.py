"""Tool calls as replies bring them: under ids and names that keep every later request legal, with arguments that are an
object.

A provider's own id is kept while it is legal and unique in the request, a name while it is legal; any other is replaced. The
very same call sent twice in one reply keeps the id of the first, by which whoever runs calls knows it.
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from ostinato.messages import ToolUse
from ostinato.ports import RequestMessage
from ostinato.providers.lenient_json import parse_object

MAX_CHARACTERS = 64
LEGAL_ID = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_CHARACTERS}}}")
"""Of ids and of names: what both wires take back."""

ILLEGAL_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")

NAMELESS = "unnamed_tool"
"""Stands in for a name that never came: the call is then answered as unknown, under a name that is legal to send back."""


class CallIds:
    """Hands out the ids of one reply; none is given to two calls, and none that `messages` already hold."""

    def __init__(self, messages: Iterable[RequestMessage]) -> None:
        self._messages = messages
        self._taken: set[str] | None = None
        self._proposed: dict[str, str] = {}  # by the id that was given for it
        self._finished: dict[str, list[ToolUse]] = {}  # by the proposed id

    def take(self, proposed: str, *, response_id: str, index: int) -> str:
        """`proposed` if it may be used, else an id made from the response and the call's place in it."""
        # Only replies with calls pay for the look at the history.
        taken = self._taken if self._taken is not None else _call_ids(self._messages)
        self._taken = taken
        call_id = proposed
        if not LEGAL_ID.fullmatch(proposed) or proposed in taken:
            stem = f"call_{ILLEGAL_CHARACTERS.sub('', response_id)[-40:]}_{index}"
            call_id, attempt = stem, 0
            while call_id in taken:
                attempt += 1
                call_id = f"{stem}_{attempt}"
        taken.add(call_id)
        self._proposed[call_id] = proposed
        return call_id

    def finish(self, call_id: str, name: str, arguments: str) -> ToolUse:
        """The call that `take` gave this id, complete. Another call of this reply that came under the same id of the provider,
        with the same name and arguments, is this one: it is given out again as it was."""
        call = finished_call(call_id, name, arguments)
        proposed = self._proposed.get(call_id, "")
        if not proposed:  # nothing tells that two calls without an id are one
            return call
        earlier = self._finished.setdefault(proposed, [])
        same = next((one for one in earlier if replace(call, id=one.id) == one), None)
        if same is None:
            earlier.append(call)
        return same or call


def legal_name(name: str) -> str:
    """The name as it may be sent back: a model may call what no tool can be named, and is answered all the same."""
    return ILLEGAL_CHARACTERS.sub("_", name[:MAX_CHARACTERS]) or NAMELESS


def finished_call(call_id: str, name: str, arguments: str) -> ToolUse:
    """The call as the model completed it; text that is no JSON object is kept aside, and the call will not run."""
    name = legal_name(name)
    if not arguments.strip():
        return ToolUse(call_id, name, {})
    parsed = parse_object(arguments)
    if parsed is None:
        return ToolUse(call_id, name, {}, invalid_input=arguments)
    return ToolUse(call_id, name, parsed)


def _call_ids(messages: Iterable[RequestMessage]) -> set[str]:
    return {block.id for message in messages for block in message.content if isinstance(block, ToolUse)}
