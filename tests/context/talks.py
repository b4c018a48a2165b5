"""Conversations for the stages: prompts, rounds of calls with results of a given size, replies; in plain sight, no randomness."""

from collections.abc import Sequence

from ostinato.context.stage import Stage
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import (
    Message,
    Text,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit

WINDOW = 200_000
FACTS = ModelFacts("p", "m", WINDOW, 32_000)
FULL = PassFacts(FACTS, used_tokens=WINDOW)
EMPTY = PassFacts(FACTS, used_tokens=0)


def prose(characters: int, seed: str) -> str:
    """Text of that length in lines, another one for each seed."""
    line = f"{seed} of something that a tool has said, and goes on to say\n"
    return (line * (characters // len(line) + 1))[:characters]


def round_of(
    call_id: str, result: str, name: str = "Read", *, is_error: bool = False, **given: object
) -> list[Message]:
    """A reply that calls one tool, and its result."""
    asked = given or {"file_path": f"src/{call_id}.py"}
    return [
        assistant_fragment(f"a-{call_id}", f"r-{call_id}", "m", ToolUse(call_id, name, asked)),
        tool_result_message(f"u-{call_id}", ToolResult(call_id, result, is_error)),
    ]


def round_of_many(results: Sequence[str], name: str = "Bash") -> list[Message]:
    """One reply that calls a tool several times, and all results."""
    calls: list[Message] = [
        assistant_fragment(f"a-{n}", "r-many", "m", ToolUse(f"c{n}", name, {"command": f"cmd {n}"}))
        for n in range(len(results))
    ]
    return [
        *calls,
        *(tool_result_message(f"u-{n}", ToolResult(f"c{n}", text)) for n, text in enumerate(results)),
    ]


def reply(uuid: str, text: str) -> Message:
    return assistant_fragment(uuid, f"r-{uuid}", "m", Text(text))


def history(*messages: Message) -> History:
    return History.empty().extend([user_prompt("p1", "The first wish."), *messages])


def results(of: History) -> dict[str, str]:
    """Every result in the view, by call."""
    return {
        block.tool_use_id: str(block.content)
        for message in of
        for block in getattr(message, "content", ())
        if isinstance(block, ToolResult)
    }


async def run(stage: Stage, of: History, facts: PassFacts) -> tuple[History, Sequence[AnyEdit]]:
    edits = await stage(of, facts)
    return of.extend(edits), edits
