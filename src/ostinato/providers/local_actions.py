"""The language of small models: one JSON action per reply, and the way there and back.

Pure translation: a request becomes a short chat, a reply's text becomes blocks. What the model wrote is never
repaired: an action is whole, or it is no action.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never, cast

import msgspec

from ostinato.messages import (
    AssistantBlock,
    Document,
    Image,
    RedactedThinking,
    ResultBlock,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.ports import ModelRequest, RequestMessage, ToolSchema
from ostinato.providers.local_examples import examples_for
from ostinato.providers.local_menu import DONE, offered_parameters
from ostinato.providers.local_progress import READ, without_line_numbers

MAX_DESCRIPTION_CHARACTERS = 90
MAX_SYSTEM_CHARACTERS = 400
"""A longer system prompt was written for a large model. Every prompt token is paid for on a CPU, and small models get worse with
prose: all that stands before the user's task, worked examples included, takes under 400 tokens.
"""

AnyBlock = UserBlock | AssistantBlock

_CONTEXT_MARK = "<system-reminder>"
_FOLDER = re.compile(r"^- working folder: (/.*)$", re.MULTILINE)

_ROLE = "You are a coding agent."

_INTRODUCTION = "Reply with one JSON object, the next call: {names} or done."

_REMINDER = "(The task: {task})"
"""Measured: longer ones, which say when to call done, are followed less than this one and the examples."""

_EXAMPLES_FOLLOW = "First, examples."

_KNOWN_TOOLS = frozenset({"Bash", "Read", "Write", "Edit", "Grep"})
"""Tools whose names say enough beside examples that show them; others are introduced by their own first sentence."""


@dataclass(frozen=True, slots=True)
class Called:
    """A whole call; `input` holds its arguments."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn's end, with the answer."""

    answer: str


Action = Called | Finished


# ------------------------------------------------------------------------------------------------ the chat


def chat_messages(request: ModelRequest, *, max_result_characters: int) -> list[dict[str, str]]:
    """The request as plain chat turns. With tools, worked examples come first, calls are written as the model writes them,
    and the task stands again behind each result: small models forget it. Without tools (a summary, a side question) it is
    an ordinary chat.
    """
    turns = [{"role": "system", "content": _system_prompt(request)}, *_example_turns(request.tools)]
    folder = _working_folder(request.messages)
    names: dict[str, str] = {}
    task = ""
    for number, message in enumerate(request.messages):
        names |= {block.id: block.name for block in message.content if isinstance(block, ToolUse)}
        blocks = _without_surroundings(message.content) if request.tools and number == 0 else message.content
        if request.tools and message.role == "assistant":
            lines = _as_actions(blocks)
        else:
            lines = tuple(filter(None, (_line(block, names, max_result_characters) for block in blocks)))
            if folder and request.tools:
                lines = tuple(line.replace(f"{folder}/", "") for line in lines)
        if any(isinstance(block, ToolResult) for block in message.content):
            lines = (*lines, _REMINDER.format(task=task)) if request.tools and task else lines
        elif message.role == "user":
            task = _own_words(message) or task
        turns.append({"role": message.role, "content": "\n\n".join(lines)})
    return turns


def _is_context(block: AnyBlock) -> bool:
    return isinstance(block, Text) and block.text.lstrip().startswith(_CONTEXT_MARK)


def _without_surroundings(first: Sequence[AnyBlock]) -> Sequence[AnyBlock]:
    """Folder, system and date are written for large models; a small one copies them into its calls."""
    return [block for block in first if not _is_context(block)] or first


def _working_folder(messages: Sequence[RequestMessage]) -> str:
    """The folder that the surroundings name. Its path is left out of what tools say: a small model takes it for news, and
    calls with relative paths are the ones that the examples show.
    """
    first = messages[0].content if messages else ()
    named = (_FOLDER.search(block.text) for block in first if isinstance(block, Text) and _is_context(block))
    return next((found[1].rstrip("/") for found in named if found), "")


def _own_words(message: RequestMessage) -> str:
    """What the user said last in a message, which is the task."""
    own = [block.text for block in message.content if isinstance(block, Text) and not _is_context(block)]
    return own[-1] if own else ""


def _example_turns(tools: Sequence[ToolSchema]) -> Iterator[dict[str, str]]:
    for example in examples_for([tool.name for tool in tools]):
        asked = example.task
        for step in example.steps:
            yield {"role": "user", "content": asked}
            yield {"role": "assistant", "content": _encode(step.tool, step.arguments)}
            asked = _told(step.tool, step.result, is_error=step.is_error)


def _system_prompt(request: ModelRequest) -> str:
    given = "\n\n".join(request.system)
    if not request.tools:
        return given
    # A prompt written for large models would drown a small one: it is left out whole, not cut somewhere.
    role = given if 0 < len(given) <= MAX_SYSTEM_CHARACTERS else _ROLE
    prompt = f"{role} " + _INTRODUCTION.format(names=", ".join(tool.name for tool in request.tools))
    lines = [prompt, *(_tool_line(tool) for tool in request.tools if tool.name not in _KNOWN_TOOLS)]
    if examples_for([tool.name for tool in request.tools]):
        lines.append(_EXAMPLES_FOLLOW)
    return "\n".join(lines)


def _tool_line(tool: ToolSchema) -> str:
    sentence = re.split(r"(?<=[.;:])\s|\n", tool.description.strip(), maxsplit=1)[0].rstrip(".;:")
    if len(sentence) > MAX_DESCRIPTION_CHARACTERS:
        sentence = sentence[:MAX_DESCRIPTION_CHARACTERS].rsplit(" ", 1)[0]
    return f"- {tool.name}({', '.join(offered_parameters(tool))}): {sentence}"


def _as_actions(blocks: Sequence[AnyBlock]) -> tuple[str, ...]:
    """Earlier replies in the form that the next one must have, whoever wrote them: prose would teach prose."""
    calls = [_line(block, {}, 0) for block in blocks if isinstance(block, ToolUse)]
    if calls:
        return tuple(calls)
    answer = "".join(block.text for block in blocks if isinstance(block, Text))
    return (_encode(DONE, {"answer": answer}),)


def _line(block: AnyBlock, names: Mapping[str, str], max_characters: int) -> str:
    match block:
        case Text(text=text):
            return text
        case ToolUse():
            return _encode(block.name, block.input if block.invalid_input is None else {})
        case ToolResult():
            return _result_line(block, names.get(block.tool_use_id, "the tool"), max_characters)
        case Image() | Document():
            return "[media left out: this model reads text only]"
        case Thinking() | RedactedThinking() | ServerBlock():
            return ""
        case _:
            assert_never(block)


def _result_line(result: ToolResult, name: str, max_characters: int) -> str:
    body = result.content if isinstance(result.content, str) else _result_text(result.content)
    if name == READ:
        body = without_line_numbers(body)
    return _told(name, shorten(body, max_characters) or "(nothing)", is_error=result.is_error)


def _told(name: str, result: str, *, is_error: bool) -> str:
    return f"{name} {'failed' if is_error else 'gave'}:\n{result}"


def _result_text(blocks: Iterable[ResultBlock]) -> str:
    return "\n".join(block.text if isinstance(block, Text) else "[media]" for block in blocks)


def shorten(text: str, max_characters: int) -> str:
    """At most about `max_characters`, head and tail kept: errors stand at the end, headings at the start."""
    if len(text) <= max_characters:
        return text
    head, tail = max_characters * 2 // 3, max_characters // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def _encode(name: str, arguments: Mapping[str, Any]) -> str:
    # Python's spacing is the one these models write themselves, so the cached prefix goes on matching.
    return json.dumps({"tool": name} | dict(arguments), ensure_ascii=False)


# ------------------------------------------------------------------------------------------------ the reply


def read_action(text: str) -> Action | None:
    """The action in a complete reply; None when it is not whole."""
    try:
        decoded: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(decoded, dict):
        return None
    fields = cast("dict[str, Any]", decoded)
    name = fields.pop("tool", None)
    if not isinstance(name, str):
        return None
    if name == DONE:
        return Finished(str(fields.get("answer", "")))
    return Called(name, fields)


_OPENING = re.compile(r'\s*\{\s*"tool"\s*:\s*"((?:[^"\\]|\\.)*)"\s*')
_ANSWER = re.compile(r'\s*,\s*"answer"\s*:\s*"')
_STRING = re.compile(r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_LONE_SURROGATE = re.compile(r"[\ud800-\udbff]$")


def opened_tool(text: str) -> tuple[str, int] | None:
    """The tool that a growing reply calls, and where its arguments begin; None until that is certain."""
    opening = _OPENING.match(text)
    # The character behind the name's quote decides whether arguments follow.
    if opening is None or opening.end() == len(text):
        return None
    return opening.group(1), opening.end()


def growing_answer(text: str, start: int) -> str:
    """As much of the `done` answer as is certain in a growing reply whose arguments begin at `start`."""
    opening = _ANSWER.match(text, start)
    string = _STRING.match(text, opening.end()) if opening else None
    if string is None:
        return ""
    decoded = cast("str", json.loads(f'"{string.group()}"', strict=False))
    return _LONE_SURROGATE.sub("", decoded)


def input_json(text: str, start: int) -> str:
    """The arguments of a reply so far as the text of one JSON object: the tool's name and its comma left out."""
    rest = text[start:].lstrip()
    return "{" + rest.removeprefix(",").lstrip()
