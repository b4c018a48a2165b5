"""`/context` and `/compact` on a whole engine: what is shown adds up, what is done can be taken back, what fails changes nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.test_long_conversations import SMALL, looking_tool, options

from ostinato.cache_breaks import CacheBreak, CacheBreakCause
from ostinato.engine.assemble import open_engine
from ostinato.engine.context_report import made_edits
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.builtin import BUILTINS
from ostinato.engine.slash.compact import HINT
from ostinato.events import Result, SystemEvent
from ostinato.history import History
from ostinato.journal.read import read_session
from ostinato.journal.sessions import start_session
from ostinato.journal.write import SessionWriter
from ostinato.loop.cache_notice import SUBTYPE, WHY, cache_break_notice
from ostinato.messages import Usage, meta_prompt, notice_message, user_prompt
from ostinato.ports import ModelFacts, ModelRequest, Prices
from ostinato.records import Boundary, Fold, SessionStarted, Undo
from ostinato.testing import Reply, ScriptedModel, call, say

ACCOUNT = "<summary>The user wants the parts looked at; some of them were looked at so far.</summary>"
ROOMY: ModelFacts = replace(SMALL, context_window=60_000)


def asked(request: ModelRequest, number: int) -> Reply:
    """Each prompt is answered after one look; a summary is written when asked for one."""
    if request.source.name == "compact":
        return Reply(say(ACCOUNT), usage=Usage(500, 50))
    last = str(request.messages[-1].content[-1])
    is_prompt = "ToolResult" not in last
    return Reply(call("Look", f"t{number}"), usage=Usage()) if is_prompt else Reply(say("ok"), usage=Usage())


class Desk:
    """An engine with some conversation, and what its commands answer."""

    def __init__(self, engine: QueryEngine, model: ScriptedModel, home: Path) -> None:
        self.engine = engine
        self.model = model
        self.home = home
        self.notices: list[str] = []

    async def type(self, line: str) -> Result:
        ends: list[Result] = []
        async for event in self.engine.submit_message(line):
            if isinstance(event, Result):
                ends.append(event)
            if isinstance(event, SystemEvent):
                self.notices.append(event.message.subtype)
        return ends[-1]

    async def report(self) -> dict[str, Any]:
        return json.loads((await self.type("/context --json")).text or "")

    def on_disk(self) -> History:
        return History.fold(read_session(next(self.home.rglob("*.jsonl"))).records)


@pytest.fixture
async def desk(tmp_path: Path):
    model = ScriptedModel(script=asked, facts=ROOMY)
    async with open_engine(
        options(tmp_path, model, home=tmp_path / "home", tool=looking_tool(100))
    ) as engine:
        made = Desk(engine, model, tmp_path / "home")
        for number in range(1, 5):
            await made.type(f"Wish number {number}.")
        yield made


async def test_the_parts_add_up_to_what_is_used_and_nothing_was_asked(desk: Desk):
    before = len(desk.model.requests)
    report = await desk.report()
    names = {part["name"] for part in report["parts"]}
    assert abs(sum(part["tokens"] for part in report["parts"]) - report["used_tokens"]) < 10
    assert {"system prompt", "tools", "your words", "replies", "calls", "results of Look"} <= names
    assert [prompt["number"] for prompt in report["prompts"]] == [1, 2, 3, 4]
    assert report["window_tokens"] == ROOMY.context_window
    assert report["compacts_at_tokens"] < ROOMY.context_window
    assert len(desk.model.requests) == before


async def test_the_same_is_shown_to_people(desk: Desk):
    shown = (await desk.type("/context")).text or ""
    for expected in ("results of Look", "60,000", "Wish number 3.", "kept free for the reply"):
        assert expected in shown


async def test_compacting_leaves_a_summary_with_the_users_words_and_tells_clients(desk: Desk):
    done = await desk.type("/compact keep the numbers")
    assert not done.is_error
    assert "keep the numbers" in str(desk.model.requests[-1].messages[-1])
    first = str(desk.engine.history.view()[0])
    assert "some of them were looked at" in first
    assert "Wish number 1." in first
    assert "compact_boundary" in desk.notices
    assert desk.engine.history.view() == desk.on_disk().view()
    boundary = next(one for one in desk.on_disk().log() if isinstance(one, Boundary))
    assert boundary.trigger == "manual"
    assert not (await desk.type("Wish number 5.")).is_error


async def test_what_a_summary_cost_stands_in_the_account_of_the_session(desk: Desk):
    before = desk.engine.usage.input_tokens
    await desk.type("/compact")
    assert desk.engine.usage.input_tokens == before + 500


async def test_a_summary_is_taken_back_by_its_id_and_everything_is_there_again(desk: Desk):
    before = desk.engine.history.view()
    await desk.type("/compact")
    (edit,) = (await desk.report())["edits"]
    assert edit["kind"] == "summary"
    assert edit["tokens_saved"] > 1_000
    done = await desk.type(f"/context undo {edit['edit_id'][:8]}")
    assert not done.is_error
    said = [one for one in desk.engine.history.view() if one in before]
    assert said == before
    assert desk.engine.history.view() == desk.on_disk().view()
    assert (await desk.report())["edits"] == []


async def test_up_to_a_prompt_and_from_a_prompt_on(desk: Desk):
    view = desk.engine.history.view()
    await desk.type("/compact --up-to 3 only the start")
    after = desk.engine.history.view()
    assert "Wish number 3." in str(after[1])
    assert [one for one in after if one in view] == view[-8:]
    second = desk.engine.history.view()
    await desk.type("/compact --from 2")
    assert isinstance(next(one for one in desk.on_disk().log() if isinstance(one, Fold)), Fold)
    assert len(desk.engine.history.view()) < len(second)
    assert not (await desk.type("And on.")).is_error


@pytest.mark.parametrize(
    "line",
    ["/compact --up-to", "/compact --up-to 99", "/compact --up-to 1 --from 2", "/compact --nonsense x",
     "/compact keep it --preview", "/compact the start --up-to 2", "/compact x --from",
     "/compact --from zzzzzz", "/context undo nothing", "/context what"],
)  # fmt: skip
async def test_what_cannot_be_understood_changes_nothing_and_says_what_can_be_typed(desk: Desk, line: str):
    before, asked_before = desk.engine.history.view(), len(desk.model.requests)
    done = await desk.type(line)
    assert done.is_error
    assert "hint" in (done.text or "")
    assert len(desk.model.requests) == asked_before
    assert desk.engine.history.view()[: len(before)] == before


async def test_a_preview_asks_no_model_and_names_the_price(tmp_path: Path):
    priced = replace(ROOMY, prices=Prices(3, 15))
    model = ScriptedModel(script=asked, facts=priced)
    async with open_engine(options(tmp_path, model, home=tmp_path, tool=looking_tool(100))) as engine:
        desk = Desk(engine, model, tmp_path)
        await desk.type("Wish number 1.")
        before = len(model.requests)
        shown = (await desk.type("/compact --preview")).text or ""
        assert "$" in shown
        assert len(model.requests) == before


async def test_a_preview_promises_no_summary_where_there_would_be_none(tmp_path: Path):
    model = ScriptedModel(script=asked, facts=ROOMY)
    async with open_engine(options(tmp_path, model, home=tmp_path, tool=looking_tool(100))) as engine:
        desk = Desk(engine, model, tmp_path)
        before_anything = (await desk.type("/compact --preview")).text or ""
        await desk.type("Wish number 1.")
        previewed = (await desk.type("/compact --preview --up-to 1")).text or ""
        done = (await desk.type("/compact --up-to 1")).text or ""
    assert "nothing was changed" in done
    for told in (before_anything, previewed):
        assert "nothing would be changed" in told


async def test_the_price_of_a_summary_counts_on_the_cache_only_where_the_conversation_itself_is_sent(
    tmp_path: Path,
):
    model = ScriptedModel(script=asked, facts=replace(ROOMY, prices=Prices(3, 15, 0.3)))
    async with open_engine(options(tmp_path, model, home=tmp_path, tool=looking_tool(100))) as engine:
        desk = Desk(engine, model, tmp_path)
        for number in range(1, 4):
            await desk.type(f"Wish number {number}.")
        first_lines = [
            ((await desk.type(f"/compact --preview {part}")).text or "").splitlines()[1]
            for part in ("", "--from 2", "--up-to 3")
        ]
    assert ["still holds" in line for line in first_lines] == [True, True, False]


def test_the_list_of_commands_names_every_way_to_compact():
    assert any(f"/compact {one.argument_hint}`" in HINT for one in BUILTINS)


async def test_a_summary_that_fails_is_told_and_changes_nothing(tmp_path: Path):
    def useless(request: ModelRequest, number: int) -> Reply:
        return Reply(say("no")) if request.source.name == "compact" else asked(request, number)

    model = ScriptedModel(script=useless, facts=ROOMY)
    async with open_engine(options(tmp_path, model, home=tmp_path, tool=looking_tool(100))) as engine:
        desk = Desk(engine, model, tmp_path)
        for number in range(3):
            await desk.type(f"Wish number {number}.")
        before = engine.history.view()
        done = await desk.type("/compact")
        assert done.is_error
        assert "nothing was changed" in (done.text or "")
        assert engine.history.view()[: len(before)] == before


async def test_a_conversation_without_a_word_has_nothing_to_compact(tmp_path: Path):
    model = ScriptedModel(script=asked, facts=ROOMY)
    async with open_engine(options(tmp_path, model, home=tmp_path)) as engine:
        desk = Desk(engine, model, tmp_path)
        assert "nothing was changed" in ((await desk.type("/compact")).text or "")
        assert not (await desk.type("/context")).is_error
        assert model.requests == []


# ------------------------------------------------------------------------------------------------ the cache and its price

PRICED = replace(ROOMY, prices=Prices(3, 15, cache_read=0.3, cache_write=3.75))


def cached(request: ModelRequest, number: int) -> Reply:
    """As `asked`, with usage as a provider with a cache gives it."""
    if request.source.name == "compact":
        return Reply(say(ACCOUNT), usage=Usage(500, 50))
    return Reply(say(f"ok {number}"), usage=Usage(10, 10, 8_000 + 1_000 * number, 1_000))


def cached_talk(tmp_path: Path, facts: ModelFacts, **more: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(script=cached, facts=facts)
    given = options(tmp_path, model, home=tmp_path / "home", tool=looking_tool(100), **more)
    environment = {**(given.environment or {}), "ANTHROPIC_API_KEY": "key-1"}
    return open_engine(replace(given, environment=environment)), model


async def test_what_the_cache_did_and_what_it_is_worth_is_shown_and_given_to_programs(tmp_path: Path):
    opened, _ = cached_talk(tmp_path, PRICED)
    async with opened as engine:
        desk = Desk(engine, ScriptedModel(), tmp_path)
        await desk.type("One.")
        await desk.type("Two.")
        report = await desk.report()
        cache = report["cache"]
        assert cache["sent_tokens"] == 10 + cache["read_tokens"] + cache["written_tokens"]
        assert cache["next_from_cache_usd"] == pytest.approx(report["used_tokens"] * 0.3e-6)
        assert cache["next_anew_usd"] == pytest.approx(report["used_tokens"] * 3.75e-6)
        assert cache["missed"] == []
        assert report["counted_tokens"] == cache["sent_tokens"] + 10
        assert "from its cache" in ((await desk.type("/context")).text or "")


async def test_a_miss_is_listed_with_its_cause_also_after_a_resume(tmp_path: Path):
    opened, _ = cached_talk(tmp_path, PRICED)
    async with opened as engine:
        desk = Desk(engine, ScriptedModel(), tmp_path)
        await desk.type("One.")
        await desk.type("Two.")
        first = await desk.report()
        assert first["cache"]["missed"] == []
    losing = ScriptedModel(
        Reply(say("a"), usage=Usage(10, 10, 20_000, 1_000)),
        Reply(say("b"), usage=Usage(10, 10, 0, 22_000)),
        facts=PRICED,
    )
    given = options(tmp_path, losing, home=tmp_path / "home", resume=desk.engine.session_id)
    async with open_engine(given) as engine:
        desk = Desk(engine, losing, tmp_path)
        await desk.type("Three.")
        await desk.type("Four.")
        (miss,) = (await desk.report())["cache"]["missed"]
        assert (miss["cause"], miss["expected_tokens"], miss["read_tokens"]) == ("server", 21_000, 0)
        assert "cache_break" in desk.notices
        session = engine.session_id
    async with open_engine(
        options(tmp_path, ScriptedModel(facts=PRICED), home=tmp_path / "home", resume=session)
    ) as engine:
        assert len((await Desk(engine, losing, tmp_path).report())["cache"]["missed"]) == 1


async def test_of_a_miss_with_several_causes_every_one_is_listed(tmp_path: Path):
    """A long conversation was shortened in many places, and it was another day."""
    everything: list[tuple[CacheBreakCause, str]] = [("system", ""), ("instructions", ""), ("time", "")]
    edits = tuple(f"edit-{number:03}" for number in range(40))
    found = CacheBreak("edit", 1_050_000, 1_000, edits=edits, also=(("tools", "new: Look"), *everything))
    garbage = notice_message("n", SUBTYPE, "Missed.", data={"cause": 7, "also": [3, {}], "edits": "x"})
    cwd, session = tmp_path, "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
    writer = start_session(tmp_path / "home", cwd, session, now=lambda: datetime.now(UTC))
    assert isinstance(writer, SessionWriter)
    for record in (
        SessionStarted(session, str(cwd), "m", "1"),
        user_prompt("p", "go"),
        cache_break_notice("c", found),
        garbage,
    ):
        writer.write(record)
    writer.close()
    model = ScriptedModel(facts=PRICED)
    async with open_engine(options(tmp_path, model, home=tmp_path / "home", resume=session)) as engine:
        desk = Desk(engine, model, tmp_path)
        miss, damaged = (await desk.report())["cache"]["missed"]
        assert (miss["cause"], miss["edits"]) == ("edit", list(edits))
        causes: list[tuple[CacheBreakCause, str]] = [("tools", "new: Look"), *everything]
        assert miss["also"] == [{"cause": cause, "what": what} for cause, what in causes]
        assert (damaged["cause"], damaged["also"], damaged["edits"]) == ("7", [], [])
        shown = (await desk.type("/context")).text or ""
        assert all(WHY[cause].format(what=what) in shown for cause, what in causes)


@pytest.mark.parametrize(("facts", "is_known"), [(PRICED, True), (ROOMY, False)])
async def test_before_the_cache_is_lost_the_price_of_it_is_said_or_that_it_is_not_known(
    tmp_path: Path, facts: ModelFacts, is_known: bool
):
    told: list[str] = []
    opened, model = cached_talk(tmp_path, facts, on_notice=told.append)
    async with opened as engine:
        desk = Desk(engine, model, tmp_path)
        for number in range(3):
            await desk.type(f"Wish number {number}. " + "Something long. " * 400)
        await desk.type("/compact")
        price = " ".join(told)
        assert ("$" in price) == is_known
        assert ("not known" in price) == (not is_known)
        (edit,) = (await desk.report())["edits"]
        undone = (await desk.type(f"/context undo {edit['edit_id']}")).text or ""
        assert ("$" in undone) == is_known
        assert ("not known" in undone) == (not is_known)
        switched = (await desk.type("/model anthropic/claude-haiku-5-5")).text or ""
        assert "from its cache" in switched
        assert ("not known" in switched) == (not is_known)


async def test_where_there_is_nothing_to_summarise_no_price_is_told(tmp_path: Path):
    told: list[str] = []
    given = options(tmp_path, ScriptedModel(Reply(say("hello"))), home=tmp_path, on_notice=told.append)
    async with open_engine(given) as engine:
        for prompt in ("hi", "/compact"):
            _ = [event async for event in engine.submit_message(prompt)]
    assert told == []


async def test_the_price_of_a_summary_is_told_before_it_is_asked_for(tmp_path: Path):
    order: list[str] = []

    def noting(request: ModelRequest, number: int) -> Reply:
        order.append(request.source.name)
        return cached(request, number)

    def told(_text: str) -> None:
        order.append("price")

    model = ScriptedModel(script=noting, facts=PRICED)
    given = options(tmp_path, model, home=tmp_path, on_notice=told)
    async with open_engine(given) as engine:
        desk = Desk(engine, model, tmp_path)
        await desk.type("Wish. " + "Something long. " * 900)
        await desk.type("And on. " + "Something long. " * 900)
        await desk.type("/compact")
    assert order[-2:] == ["price", "compact"]


async def test_a_model_that_nobody_has_asked_anything_is_changed_without_a_word_of_money(tmp_path: Path):
    opened, model = cached_talk(tmp_path, PRICED)
    async with opened as engine:
        done = await Desk(engine, model, tmp_path).type("/model anthropic/claude-haiku-5-5")
        assert "$" not in (done.text or "")


async def test_going_back_to_the_model_that_answered_last_costs_nothing_and_no_price_is_said(tmp_path: Path):
    opened, model = cached_talk(tmp_path, PRICED)
    async with opened as engine:
        desk = Desk(engine, model, tmp_path)
        await desk.type("Wish. " + "Something long. " * 900)
        away = (await desk.type("/model anthropic/claude-haiku-5-5")).text or ""
        further = (await desk.type("/model anthropic/claude-sonnet-5-5")).text or ""
        assert "from its cache" in away
        assert "reads anew" in further
        assert "from its cache" not in further
    haiku = replace(PRICED, provider="anthropic", id="claude-haiku-5-5")
    answering = ScriptedModel(script=cached, facts=haiku)
    given = options(tmp_path, answering, home=tmp_path / "second", tool=looking_tool(100))
    environment = {**(given.environment or {}), "ANTHROPIC_API_KEY": "key-1"}
    async with open_engine(replace(given, environment=environment)) as engine:
        desk = Desk(engine, answering, tmp_path)
        await desk.type("Wish.")
        assert "reads anew" in ((await desk.type("/model anthropic/claude-sonnet-5-5")).text or "")
        assert "reads anew" not in ((await desk.type("/model anthropic/claude-haiku-5-5")).text or "")


def test_an_edit_on_top_of_one_that_was_taken_back_is_still_listed_and_can_be_taken_back():
    account, summary = (meta_prompt(name, "in short", origin="summary") for name in ("s1", "s2"))
    said = [user_prompt(f"p{number}", "Do it, and do it well. " * 40) for number in range(6)]
    history = History.empty().extend(said).append(Fold("e1", "p1", "p2", account))
    history = history.append(Boundary("e2", summary, "s1")).append(Undo("u1", "e1"))
    assert [one.uuid for one in history.view()] == ["s2", "p1", "p2", "p3", "p4", "p5"]
    assert [one.edit_id for one in made_edits(history)] == ["e2"]
    assert all(one.tokens_saved > 0 for one in made_edits(history))
    assert list(made_edits(history.append(Undo("u2", "e2")))) == []
