"""What the context pipeline costs, what memory a long session holds, and what the stages save: `python -m benchmarks.context
[--full | --savings]`.

Scripted sessions of several hundred passes go through the real stages; the summariser is scripted. Costs are counted in input
tokens at full price: read from the cache 0.1, written to it 1.25, a token of output 5 (the ratios of the usual price lists). A
request's cached part is what it shares with the one before it, none after a pause of more than five minutes.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio

from benchmarks.context_memory import memory
from benchmarks.measure import Figure, show
from ostinato.context.autocompact import Autocompact
from ostinato.context.collapse import Collapse
from ostinato.context.compaction import Compaction
from ostinato.context.microcompact import Microcompact
from ostinato.context.pipeline import Pipeline, StageName
from ostinato.context.reactive import ReactiveCompaction, message_tokens
from ostinato.context.snip import RedundantRounds
from ostinato.context.stage import Stage
from ostinato.context.tool_result_budget import ToolResultBudget
from ostinato.context_pass import PassFacts, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.history import History
from ostinato.messages import (
    Message,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit, Boundary, ReplaceResult
from ostinato.testing import CountingIds

FACTS = ModelFacts("p", "m", 200_000, 32_000)
FIXED_TOKENS = 12_000
"""System prompt and tools, which no stage touches."""

READ, WRITTEN, OUT = 0.1, 1.25, 5.0
CACHE_S = 300.0
SUMMARY_TOKENS = 2_000
REPLY_TOKENS = 150
PASSES = 400
SUMMARY = SummaryReply("<summary>" + "What was wanted, and what was done so far. " * 115 + "</summary>")


@dataclass(frozen=True)
class Round:
    """One pass: the call, its result, and how long the user paused before it."""

    call: ToolUse
    result: str
    pause_s: float = 5.0
    prompt: str = ""


def text(characters: int, seed: object) -> str:
    line = f"{seed}: a line of a file or of what a command said, of usual length\n"
    return (line * (characters // len(line) + 1))[:characters]


def exploring(chance: random.Random) -> Iterator[Round]:
    """Reads and searches over 60 files, some of them again and again."""
    for number in range(PASSES):
        path = f"src/f{int(60 * chance.random() ** 2)}.py"
        if chance.random() < 0.7:
            call, size = ToolUse(f"c{number}", "Read", {"file_path": path}), chance.randint(2_000, 18_000)
            yield Round(call, text(len(path) * 700, path))
        else:
            call, size = (
                ToolUse(f"c{number}", "Grep", {"pattern": f"p{number % 9}"}),
                chance.randint(500, 8_000),
            )
            yield Round(call, text(size, number))


def editing(chance: random.Random) -> Iterator[Round]:
    """Read, edit, test, over and over; a test's output is long at times."""
    for number in range(PASSES):
        path = f"src/f{int(40 * chance.random() ** 2)}.py"
        kind = number % 4
        prompt = f"Now the next part, number {number}." if number % 40 == 39 else ""
        if kind == 0:
            yield Round(ToolUse(f"c{number}", "Read", {"file_path": path}), text(9_000, path), prompt=prompt)
        elif kind == 3:
            size = 60_000 if chance.random() < 0.1 else chance.randint(400, 6_000)
            yield Round(
                ToolUse(f"c{number}", "Bash", {"command": "make test"}), text(size, number), prompt=prompt
            )
        else:
            given = {"file_path": path, "old_string": text(300, "old"), "new_string": text(500, "new")}
            yield Round(ToolUse(f"c{number}", "Edit", given), text(900, number), prompt=prompt)


def with_pauses(rounds: Callable[[random.Random], Iterator[Round]], chance: random.Random) -> Iterator[Round]:
    """The same, with the user away now and then: some minutes often, hours at times."""
    for one in rounds(chance):
        away = chance.random()
        pause_s = 7_200.0 if away < 0.01 else 600.0 if away < 0.04 else one.pause_s
        yield Round(one.call, one.result, pause_s, one.prompt)


def huge(chance: random.Random) -> Iterator[Round]:
    """Commands that say far too much, and the same again."""
    for number in range(PASSES):
        size = chance.choice([2_000, 10_000, 45_000, 120_000])
        seed = number if chance.random() < 0.6 else number % 3
        yield Round(ToolUse(f"c{number}", "Bash", {"command": f"run {seed}"}), text(size, seed))


SESSIONS: Mapping[str, Callable[[random.Random], Iterator[Round]]] = {
    "exploring": exploring,
    "editing": editing,
    "editing, with pauses": partial(with_pauses, editing),
    "huge outputs": huge,
}


@dataclass
class Account:
    """What a session came to. `cost` is in input tokens at full price; `kept` the mean share of the results of the last 40 calls
    that still stand whole in the request.
    """

    cost: float = 0.0
    sent: int = 0
    compactions: int = 0
    edits: dict[str, int] = field(default_factory=dict[str, int])
    freed: int = 0
    kept: list[float] = field(default_factory=list[float])


async def stored(call_id: str, _text: str) -> str | None:
    return f"/kept/{call_id}.txt"


async def nothing(_kept: Sequence[Message]) -> Sequence[Message]:
    return ()


Make = Callable[[Callable[[], str]], Mapping[StageName, Stage]]


def stages(new_uuid: Callable[[], str], *names: StageName, share: float = 0.5) -> dict[StageName, Stage]:
    reactive = ReactiveCompaction(new_uuid)

    async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
        return await reactive(messages, None, model)

    every: dict[StageName, Stage] = {
        "tool_result_budget": ToolResultBudget(
            new_uuid, stored, lambda name: None if name == "Read" else 30_000
        ),
        "snip": RedundantRounds(new_uuid),
        "microcompact": Microcompact(new_uuid, share=share, idle_s=3_600.0),
        "collapse": Collapse(new_uuid),
        "autocompact": Autocompact(Compaction(new_uuid, nothing), digest),
    }
    return {name: every[name] for name in names}


async def play(rounds: Iterator[Round], make: Make) -> Account:
    new_uuid = CountingIds("e").uuid
    pipeline, account = Pipeline(make(new_uuid)), Account()
    messages = History.empty().append(user_prompt("p", "Make all of it faster, and keep the tests green."))
    before: Sequence[Message] = ()
    sizes: dict[int, tuple[Message, int]] = {}

    def size(message: Message) -> int:
        known = sizes.get(id(message))
        if known is None:
            known = sizes[id(message)] = (message, message_tokens(message))
        return known[1]

    async def summarise(_wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
        account.cost += READ * (FIXED_TOKENS + sum(map(size, messages))) + OUT * SUMMARY_TOKENS
        return SUMMARY

    for number, one in enumerate(rounds):
        if one.prompt:
            messages = messages.append(user_prompt(f"p{number}", one.prompt))
        used = FIXED_TOKENS + sum(map(size, messages))
        facts = PassFacts(FACTS, used, idle_s=one.pause_s, summarise=summarise)
        edits = await pipeline(messages, facts)
        messages = messages.extend(edits)
        _note(account, edits)
        view = messages.view()
        _pay(account, before if one.pause_s < CACHE_S else (), view, size)
        account.kept.append(_kept(view, number))
        before = view
        messages = messages.append(assistant_fragment(f"a{number}", f"r{number}", "m", one.call))
        messages = messages.append(tool_result_message(f"t{number}", ToolResult(one.call.id, one.result)))
    return account


def _note(account: Account, edits: Sequence[AnyEdit]) -> None:
    for edit in edits:
        name = type(edit).__name__
        if isinstance(edit, ReplaceResult):
            name = "cleared" if edit.how == "cleared" else "stored"
        account.edits[name] = account.edits.get(name, 0) + 1
        account.compactions += isinstance(edit, Boundary)


def _pay(
    account: Account, before: Sequence[Message], view: Sequence[Message], size: Callable[[Message], int]
) -> None:
    shared = FIXED_TOKENS if before else 0
    for old, new in zip(before, view, strict=False):
        if old is not new:
            break
        shared += size(new)
    whole = FIXED_TOKENS + sum(map(size, view))
    account.sent += whole
    account.cost += READ * shared + WRITTEN * (whole - shared) + OUT * REPLY_TOKENS


def _kept(view: Sequence[Message], newest: int) -> float:
    """How much of what the last 40 calls brought still stands there whole."""
    wanted = {f"c{number}" for number in range(max(0, newest - 40), newest)}
    whole = {
        block.tool_use_id
        for message in view
        for block in getattr(message, "content", ())
        if isinstance(block, ToolResult) and not str(block.content).startswith("[")
    }
    return len(wanted & whole) / len(wanted) if wanted else 1.0


CHEAP: tuple[StageName, ...] = ("tool_result_budget", "snip")
ALL: tuple[StageName, ...] = (*CHEAP, "microcompact", "autocompact")
CHOICES: Mapping[str, Make] = {
    "autocompact alone": lambda ids: stages(ids, "autocompact"),
    "+ tool-result budget": lambda ids: stages(ids, "tool_result_budget", "autocompact"),
    "+ snip": lambda ids: stages(ids, *CHEAP, "autocompact"),
    "+ microcompact from 0.5": lambda ids: stages(ids, *ALL),
    "+ microcompact from 0.65": lambda ids: stages(ids, *ALL, share=0.65),
    "+ microcompact from 0.8": lambda ids: stages(ids, *ALL, share=0.8),
    "+ microcompact idle only": lambda ids: stages(ids, *ALL, share=9.0),
    "+ collapse, no microcompact": lambda ids: stages(ids, *CHEAP, "collapse", "autocompact"),
    "+ collapse, microcompact idle only": lambda ids: stages(ids, *ALL, "collapse", share=9.0),
}


def savings() -> None:
    for session, rounds in SESSIONS.items():
        print(
            f"\n{session}, {PASSES} passes\n| stages | cost | tokens sent | summaries | kept | edits |\n| --- | --- | --- | --- | --- | --- |"
        )
        first = 0.0
        for name, make in CHOICES.items():
            account = anyio.run(play, rounds(random.Random(7)), make)
            first = first or account.cost
            edits = ", ".join(f"{kind} {count}" for kind, count in sorted(account.edits.items()))
            kept = sum(account.kept) / len(account.kept)
            print(
                f"| {name} | {account.cost / 1e6:.2f} M ({account.cost / first:.2f}) | {account.sent / 1e6:.1f} M | "
                f"{account.compactions} | {kept:.0%} | {edits} |"
            )


# ------------------------------------------------------------------------------------------------ speed and memory


def conversation(messages: int) -> History:
    """A prompt, then calls and results, all of them different."""
    said: list[Message] = [user_prompt("p", "go")]
    for number in range((messages - 1) // 2):
        call = ToolUse(f"c{number}", "Read", {"file_path": f"src/f{number}.py"})
        said.append(assistant_fragment(f"a{number}", f"r{number}", "m", call))
        said.append(tool_result_message(f"t{number}", ToolResult(call.id, text(200, number))))
    return History.empty().extend(said)


async def no_edit_us(messages: int, rounds: int) -> float:
    """CPU microseconds of the pipeline on a view with nothing to shorten, three quarters of the window used, so that every stage but the
    summary looks; the best of several.
    """
    history, ids = conversation(messages), CountingIds("e").uuid
    pipeline, facts = Pipeline(stages(ids, *ALL)), PassFacts(FACTS, 3 * FACTS.context_window // 4)
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time_ns()
        made = await pipeline(history, facts)
        best = min(best, (time.process_time_ns() - began) / 1_000)
        if made:
            raise AssertionError("there was something to shorten")
    return best


def speed(rounds: int) -> list[Figure]:
    small, large = (anyio.run(no_edit_us, messages, 50 * rounds) for messages in (10, 2_000))
    detail = f"{small:.0f} µs at 10 messages"
    return [Figure("context pipeline without edits, 2,000 messages, CPU", large / 1_000, "ms", 0.3, detail)]


def main(arguments: Sequence[str]) -> None:
    """`--savings`: the table of docs/context.md instead."""
    if "--savings" in arguments:
        savings()
        return
    is_full = "--full" in arguments
    show([*speed(10 if is_full else 2), *memory(10_000 if is_full else 500)])


if __name__ == "__main__":
    main(sys.argv[1:])
