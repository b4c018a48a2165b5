"""What one pass hands to the next, what each request carries, and that nothing but `State` remembers."""

from collections.abc import Sequence

import anyio
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.context_pass import PassFacts
from ostinato.events import Event, RequestStart
from ostinato.history import History
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.ledger import Ledger
from ostinato.loop.query import query
from ostinato.loop.query_loop import QueryEnd, query_loop
from ostinato.loop.turn import QueryNotes
from ostinato.messages import Message, Text, ToolResult, ToolUse, user_prompt
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, Thinking
from ostinato.records import AnyEdit, ReplaceResult
from ostinato.state import ModelSettings
from ostinato.testing import (
    Reply,
    RunLog,
    ScriptedModel,
    Started,
    answers,
    call,
    fake_tool,
    kinds,
    say,
    terminal,
    transitions,
)
from ostinato.tool import ToolContext


async def played(params: QueryParams, deps: Deps) -> list[Event]:
    return [event async for event in query(params, deps)]


async def looped(params: QueryParams, deps: Deps) -> tuple[QueryEnd, list[Event]]:
    """The inner machine alone, its events gathered instead of handed over."""
    shown: list[Event] = []

    async def emit(batch: Sequence[Event]) -> None:
        shown.extend(batch)

    ledger = Ledger(deps.journal, emit, lambda _event: True)
    return await query_loop(params, deps, ledger, QueryNotes()), shown


def rounds(count: int) -> ScriptedModel:
    """A model that asks for one tool in each of this many replies, then is done."""
    asked = [Reply(call("Look", f"t{number}")) for number in range(count)]
    return ScriptedModel(*asked, Reply(say("done")))


async def test_each_round_of_tools_is_one_request_of_its_own():
    scene = Scene(rounds(3), [fake_tool("Look")])
    await scene.play()
    assert len(scene.model.requests) == 4
    assert [e.turn_count for e in scene.events if isinstance(e, RequestStart)] == [1, 2, 3, 4]


async def test_the_model_picks_the_tools_their_order_and_the_end():
    log = RunLog()
    model = ScriptedModel(
        Reply(call("Third", "t1")), Reply(call("First", "t2"), call("Third", "t3")), Reply(say("enough"))
    )
    scene = Scene(model, [fake_tool(name, log=log) for name in ("First", "Second", "Third")])
    await scene.play()
    ran = [entry.name for entry in log.entries if isinstance(entry, Started)]
    assert ran == ["Third", "First", "Third"]
    assert {tuple(tool.name for tool in request.tools) for request in model.requests} == {
        ("First", "Second", "Third")
    }


async def test_without_a_limit_the_loop_goes_on_as_long_as_tools_are_asked_for():
    unguarded = replace(STRICT, loop_guard="off")
    scene = Scene(rounds(40), [fake_tool("Look")], config=unguarded)
    await scene.play()
    assert transitions(scene.terminal) == ("next_turn",) * 40
    assert scene.terminal.reason == "completed"
    params = scene.params()
    bare = QueryParams(params.messages, params.tool_use_context, params.settings)
    assert bare.max_turns is None


async def test_a_pass_prepares_calls_runs_tools_and_attaches_in_this_order():
    order: list[str] = []

    async def prepare(messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        order.append("prepare")
        return ()

    async def attach(view: Sequence[Message]) -> Sequence[Message]:
        order.append("attach")
        return ()

    async def run(_input: object, _context: object) -> None:
        order.append("tool")

    def script(_request: ModelRequest, number: int) -> Reply:
        order.append("model")
        return Reply(call("Look", "t1")) if number == 1 else Reply(say("done"))

    scene = Scene(ScriptedModel(script=script), [fake_tool("Look", run)])
    await played(scene.params(), replace(scene.deps(), prepare_context=prepare, collect_attachments=attach))
    assert order == ["model", "tool", "attach", "prepare", "model"]


async def test_what_the_context_pipeline_replaced_stays_replaced_in_every_later_request():
    passes: list[int] = []

    async def prepare(messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        passes.append(len(passes))
        return (ReplaceResult("e1", "t0", "cleared"),) if len(passes) == 1 else ()

    scene = Scene(rounds(2), [fake_tool("Look", answers("long output"))])
    await played(scene.params(), replace(scene.deps(), prepare_context=prepare))
    first_results = [request.messages[2].content[0] for request in scene.model.requests[1:]]
    assert first_results == [ToolResult("t0", "cleared"), ToolResult("t0", "cleared")]


async def test_the_first_request_holds_the_history_and_the_prompt():
    scene = Scene(ScriptedModel(Reply(say("hi"))), before=[user_prompt("earlier", "before")], prompt="now")
    await scene.play()
    (message,) = scene.model.requests[0].messages
    assert message.content == (Text("before"), Text("now"))


async def test_query_passes_the_end_of_the_loop_through_unchanged():
    def scene() -> Scene:
        return Scene(rounds(2), [fake_tool("Look")])

    outer, inner = scene(), scene()
    events = await played(outer.params(), outer.deps())
    end, _ = await looped(inner.params(), inner.deps())
    assert terminal(events) == end.terminal
    assert end.terminal.turn_count == 3


async def test_the_loop_keeps_nothing_from_one_query_to_the_next():
    ends: list[QueryEnd] = []
    shown: list[list[Event]] = []
    for _ in range(2):
        scene = Scene(rounds(2), [fake_tool("Look")])
        end, events = await looped(scene.params(), scene.deps())
        ends.append(end)
        shown.append(events)
    assert ends[0].terminal == ends[1].terminal
    assert ends[0].messages.view() == ends[1].messages.view()
    assert shown[0] == shown[1]


async def test_the_same_doubles_give_the_same_events_to_the_last_id():
    runs: list[list[Event]] = []
    for _ in range(2):
        scene = Scene(rounds(3), [fake_tool("Look")])
        runs.append(await scene.play())
    assert runs[0] == runs[1]


async def test_the_parameters_of_a_query_reach_every_request():
    scene = Scene(rounds(1), [fake_tool("Look")])
    params = scene.params()
    context = replace(
        params.tool_use_context,
        thinking=Thinking(2_000),
        source=QuerySource("agent"),
        tracking=QueryTracking("chain", 2),
    )
    settings = ModelSettings(
        system=("You are a test.", "Be brief."),
        user_context="date: today",
        temperature=1,
        own_system_blocks=1,
    )
    await played(replace(params, tool_use_context=context, settings=settings), scene.deps())
    assert len(scene.model.requests) == 2
    for request in scene.model.requests:
        assert request.model == scene.model.facts.id
        assert request.system == ("You are a test.", "Be brief.")
        assert request.own_system_blocks == 1
        assert request.thinking == Thinking(2_000)
        assert request.source == QuerySource("agent")
        assert request.tracking == QueryTracking("chain", 2)
        assert request.temperature == 1
        assert [tool.name for tool in request.tools] == ["Look"]
        first = request.messages[0].content[0]
        assert isinstance(first, Text)
        assert "date: today" in first.text


async def test_the_output_limit_of_the_caller_is_that_of_the_first_request():
    scene = Scene(ScriptedModel(Reply(say("hi"))))
    await played(replace(scene.params(), max_output_tokens_override=1_234), scene.deps())
    assert scene.model.requests[0].max_output_tokens == 1_234


async def test_model_call_and_tools_share_one_abort_signal():
    seen: list[object] = []

    async def look(_input: object, context: ToolContext) -> None:
        seen.append(context.abort)
        context.abort.abort("user")

    scene = Scene(ScriptedModel(Reply(call("Look", "t1"), say("and more"))), [fake_tool("Look", look)])
    with anyio.fail_after(5):
        await scene.play()
    assert seen == [scene.abort]
    assert scene.terminal.reason in {"aborted_streaming", "aborted_tools"}


async def test_a_reply_may_mix_text_and_several_calls_and_is_sent_back_whole():
    blocks = (say("first"), call("Look", "t1", path="a"), say("then"), call("Look", "t2", path="b"))
    scene = Scene(ScriptedModel(Reply(*blocks), Reply(say("done"))), [fake_tool("Look")])
    await scene.play()
    sent_back = scene.model.requests[1].messages[1].content
    assert sent_back == blocks
    calls = [block for block in sent_back if isinstance(block, ToolUse)]
    assert [(one.id, one.name, one.input) for one in calls] == [
        ("t1", "Look", {"path": "a"}),
        ("t2", "Look", {"path": "b"}),
    ]
    assert kinds(scene.events).count("assistant") == 5
