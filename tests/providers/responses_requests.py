"""Requests on the Responses wire, judged by its rules as they are made."""

import json
from collections.abc import Sequence
from typing import Any

from tests.providers.requests import facts, request

from ostinato.messages import AssistantBlock, ProviderState, Text, ToolResult, ToolUse
from ostinato.ports import ModelFacts, RequestMessage
from ostinato.providers.openai_responses_wire import ResponsesBodies
from ostinato.testing import WireRules, find_responses_problems

FACTS = facts("openai", thinking_form="effort", takes_temperature=False)
SEALED = ProviderState(
    "openai",
    "model-1",
    '{"type":"reasoning","id":"rs_0","summary":[{"type":"summary_text","text":"why","refusal":null}],"encrypted_content":"sealed"}',
)


def body_of(*messages: RequestMessage, model: ModelFacts = FACTS, **changes: Any) -> dict[str, Any]:
    sent = request(messages or (RequestMessage("user", (Text("hello"),)),), **changes)
    body = json.loads(ResponsesBodies(model).body(sent))
    assert find_responses_problems(body, WireRules(takes_temperature=model.takes_temperature)) == ()
    return body


def asked_and_answered(*said: AssistantBlock, results: Sequence[ToolResult] = ()) -> list[Any]:
    """The input items for a conversation in which the model said this."""
    answer = tuple(results) or tuple(ToolResult(b.id, "done") for b in said if isinstance(b, ToolUse))
    messages = [RequestMessage("user", (Text("go"),)), RequestMessage("assistant", said)]
    if answer:
        messages.append(RequestMessage("user", answer))
    else:
        messages.append(RequestMessage("user", (Text("and?"),)))
    return body_of(*messages)["input"][1:]
