"""What was missed in the provider's cache is written and told after the turn, once, with its numbers; everything else is silent."""

from collections.abc import Sequence
from typing import get_args

import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.cache_breaks import NO_FAULT, CacheBreak, CacheBreakCause
from ostinato.context.cache_watch import CacheWatch
from ostinato.context_pass import PassFacts
from ostinato.events import SystemEvent
from ostinato.history import History
from ostinato.loop.cache_notice import SUBTYPE, WHY, cache_break_notice
from ostinato.loop.query import events_of
from ostinato.loop.run import Run
from ostinato.messages import SystemMessage, Usage
from ostinato.records import AnyEdit, ReplaceResult
from ostinato.testing import Reply, ScriptedModel, answers, call, fake_tool, say


def used(read: int, written: int) -> Usage:
    return Usage(10, 10, cache_read_input_tokens=read, cache_creation_input_tokens=written)


def replies(*reads: int) -> ScriptedModel:
    looking = [Reply(call("Look", f"t{n}"), usage=used(read, 1_000)) for n, read in enumerate(reads)]
    return ScriptedModel(*looking, Reply(say("done"), usage=used(reads[-1] + 1_000, 0)))


async def clears_the_second(messages: History, _facts: PassFacts, /) -> Sequence[AnyEdit]:
    seen = str(messages.view())
    return (ReplaceResult("edit-123456789", "t0", "cleared", how="cleared"),) if "'t1'" in seen else ()


async def played(scene: Scene, *, shortens: bool = False) -> list[SystemMessage]:
    deps = replace(scene.deps(), watch_cache=CacheWatch())
    if shortens:
        deps = replace(deps, prepare_context=clears_the_second)
    scene.events = [event async for event in events_of(Run(scene.params(), deps))]
    told = [event.message for event in scene.events if isinstance(event, SystemEvent)]
    assert [one for one in scene.journal.records if isinstance(one, SystemMessage)] == told
    return [one for one in told if one.subtype == SUBTYPE]


async def test_a_query_that_reads_all_that_was_cached_has_nothing_to_tell():
    look = fake_tool("Look", answers("seen"))
    assert await played(Scene(replies(0, 20_000, 21_000), [look])) == []


async def test_a_cache_that_the_provider_did_not_keep_is_told_once():
    (told,) = await played(Scene(replies(20_000, 0, 1_000), [fake_tool("Look", answers("seen"))]))
    assert told.level == "info"
    assert told.data is not None
    assert (told.data["cause"], told.data["expected_tokens"], told.data["read_tokens"]) == (
        "server",
        21_000,
        0,
    )


async def test_an_edit_that_changed_what_was_cached_is_told_with_its_id():
    scene = Scene(replies(20_000, 21_000, 9_000), [fake_tool("Look", answers("seen"))])
    (told,) = await played(scene, shortens=True)
    assert told.data is not None
    assert (told.data["cause"], told.data["edits"]) == ("edit", ["edit-123456789"])
    assert "edit-123" in told.text


async def test_where_nobody_watches_nothing_is_told():
    scene = Scene(replies(20_000, 0, 0), [fake_tool("Look", answers("seen"))])
    await scene.play()
    assert not any(isinstance(event, SystemEvent) for event in scene.events)


@pytest.mark.parametrize("cause", get_args(CacheBreakCause))
def test_every_cause_has_its_words_and_what_nobody_wanted_is_a_warning(cause: CacheBreakCause):
    notice = cache_break_notice("u", CacheBreak(cause, 50_000, 1_000, "WHAT"))
    assert ("{what}" in WHY[cause]) == ("WHAT" in notice.text)
    assert (notice.level == "info") == (cause in NO_FAULT)
    assert "1,000 of 50,000" in notice.text


@pytest.mark.parametrize("blamed", ["tools", "messages"])
def test_all_causes_are_in_the_notice_and_one_that_nobody_wanted_makes_it_a_warning(blamed: CacheBreakCause):
    found = CacheBreak(
        "compaction", 50_000, 0, edits=("edit-123456789",), also=((blamed, "WHAT"), ("time", ""))
    )
    notice = cache_break_notice("u", found)
    assert notice.level == "warning"
    assert notice.data is not None
    assert [one["cause"] for one in notice.data["also"]] == [blamed, "time"]
    assert "edit-123" in notice.text
    assert WHY[blamed].format(what="WHAT") in notice.text


def test_many_edits_are_counted_in_the_text_and_named_in_the_data():
    edits = tuple(f"edit-{number:03}" for number in range(40))
    notice = cache_break_notice("u", CacheBreak("edit", 50_000, 0, edits=edits, also=(("time", ""),)))
    assert "37 more" in notice.text
    assert notice.data is not None
    assert notice.data["edits"] == list(edits)
