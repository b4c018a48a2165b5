"""What a small model may write next: a JSON Schema of every call that can help now, and `done`.

A closed menu does what prose does not: a text that is not in the file cannot be asked for, a circle cannot be gone on with.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ostinato.ports import RequestMessage, ToolSchema
from ostinato.providers.local_progress import (
    EDIT,
    OLD,
    PATH,
    PastCall,
    idle_tools,
    known_files,
    past_calls,
    refused_passages,
)

DONE = "done"
"""The action that ends a turn; its `answer` is the text for the user."""

MAX_OPTIONAL_OF = 3
"""Tools with more parameters than this are offered with the required ones only: each optional one is a way to go wrong."""

MAX_BLOCK_LINES = 12
MAX_PASSAGES = 160
"""So many passages of a file are named in the menu; of a longer file any text may be given."""

_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def action_schema(tools: Sequence[ToolSchema], messages: Sequence[RequestMessage] = ()) -> dict[str, Any]:
    """A JSON Schema that every sensible action meets: flat scalar arguments, one object per tool, and `done`.

    What cannot help now is not on the menu: Edit of a file or a line that was not seen, and a tool that has just told the
    same again.
    """
    calls = past_calls(messages)
    idle = idle_tools(calls)
    done = ToolSchema(DONE, "", {"properties": {"answer": {"type": "string"}}, "required": ["answer"]})
    actions: list[dict[str, Any]] = []
    for tool in (*tools, done):
        if tool.name not in idle:
            actions += _edits(tool, calls) if tool.name == EDIT else [_one_action(tool)]
    return {"anyOf": actions}


def _one_action(tool: ToolSchema, **narrowed: Mapping[str, Any]) -> dict[str, Any]:
    offered = offered_parameters(tool)
    offered |= {name: dict(schema) for name, schema in narrowed.items() if name in offered}
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}} | offered,
        "required": ["tool", *(name for name in offered if name in _required(tool))],
        "additionalProperties": False,
    }


def _edits(tool: ToolSchema, calls: Sequence[PastCall]) -> list[dict[str, Any]]:
    """An action for each file that was seen, with what stands in it."""
    actions: list[dict[str, Any]] = []
    for path, text in known_files(calls).items():
        passages = unique_passages(text) if text is not None else ()
        refused = refused_passages(calls, path)
        left = [passage for passage in passages if passage not in refused]
        narrowed = {OLD: {"type": "string", "enum": left}} if left else {}
        actions.append(_one_action(tool, **{PATH: {"type": "string", "enum": [path]}}, **narrowed))
    return actions


def unique_passages(text: str) -> Sequence[str]:
    """Blocks of whole lines that stand in the text once, in their order, each with and without the indentation of its first
    line: a model that leaves that out would be led to another line that begins likewise. No block ends between a line and what
    is indented under it: a model that names a heading alone means all of it. Short blocks only, or none, when there would be
    too many.
    """
    lines = text.split("\n")
    for most in range(MAX_BLOCK_LINES, 0, -1):
        blocks = ["\n".join(lines[first:end]) for first, end in _whole_blocks(lines, most)]
        passages = dict.fromkeys(passage for block in blocks for passage in (block, block.lstrip(" \t")))
        found = [passage for passage in passages if text.count(passage) == 1]
        if len(found) <= MAX_PASSAGES:
            return found
    return ()


def _whole_blocks(lines: Sequence[str], most: int) -> Iterator[tuple[int, int]]:
    """First line and end of each block of up to `most` lines that begins and ends with ink and cuts nothing; a line with more
    under it than that stands alone.
    """
    for first, line in enumerate(lines):
        if not line.strip():
            continue
        ends = range(first + 1, min(first + most, len(lines)) + 1)
        whole = [end for end in ends if lines[end - 1].strip() and not _is_cut(lines, first, end)]
        for end in whole or [first + 1]:
            yield first, end


def _is_cut(lines: Sequence[str], first: int, end: int) -> bool:
    """Whether the next line with ink belongs under the block."""
    following = next((line for line in lines[end:] if line.strip()), "")
    return _indentation(following) > _indentation(lines[first])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _required(tool: ToolSchema) -> Sequence[str]:
    return cast("Sequence[str]", tool.input_schema.get("required", ()))


def offered_parameters(tool: ToolSchema) -> dict[str, Any]:
    """The tool's own choice, else the scalars: all if they are few, or the required ones. In the order of the schema."""
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.input_schema.get("properties", {}))
    has_few = len(properties) <= MAX_OPTIONAL_OF
    offered = tool.flat_parameters or (properties if has_few else _required(tool))
    return {
        name: {key: schema[key] for key in ("type", "enum") if key in schema}
        for name, schema in properties.items()
        if schema.get("type") in _SCALARS and name != "tool" and name in offered
    }
