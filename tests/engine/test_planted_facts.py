"""What a long conversation still knows when its summaries say nothing of it: after one, three and ten of them, resumed in between."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.engine.query_engine import QueryEngine
from ostinato.events import Event, SystemEvent
from ostinato.loop.compaction_notices import WITHOUT_MODEL
from ostinato.messages import Usage
from ostinato.ports import ModelRequest
from ostinato.records import Boundary
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, Turn, call, fake_tool, result, say
from ostinato.tool import Tool, ToolContext

WINDOW = replace(SCRIPTED_FACTS, context_window=60_000, max_output_tokens=4_000)
FORGETFUL = "<summary>Work was done, and it goes on; nothing of it needs to be known any more.</summary>"
UNKNOWN = Usage()

FIRST = "Build the importer for the old archive (wish-1001)."
CONSTRAINT = "One thing: never touch anything under legal/ (constraint-5512)."
PASTED = [
    f"This is the log of run {n}:\n" + f"{n}: step went by without a word of note\n" * 360 for n in range(6)
]
NEWEST = "Now go through all the parts (order-8080)."

PLANTED = {
    "instructions": "rule-7431",
    "first prompt": "wish-1001",
    "constraint of the third prompt": "constraint-5512",
    "newest prompt": "order-8080",
    "edited file": "importer_notes.py",
    "running task": "sleep 61.5",
    "decision in a reply": "decision-9917",
}
LOST = {"decision in a reply"}
"""Only a summary knows what was decided; one that forgets it loses it."""


def pasted_tokens() -> float:
    return sum(map(len, PASTED)) / 4


class Forgetful:
    """A model that does what its prompts need, then looks at part after part until it was asked for `until` summaries, or has looked
    at so many.
    """

    def __init__(self, summary: str = FORGETFUL, *, most_looks: int = 100) -> None:
        self.until = 0
        self.most_looks = most_looks
        self.summaries = 0
        self.looked = 0
        self._summary = summary
        self._first = [
            Reply(call("Bash", "task", command="sleep 61.5", run_in_background=True), usage=UNKNOWN),
            Reply(call("Read", "read", file_path="importer_notes.py"), usage=UNKNOWN),
            Reply(
                call("Edit", "edit", file_path="importer_notes.py", old_string="old", new_string="new"),
                usage=UNKNOWN,
            ),
            Reply(say("I keep it in one table (decision-9917)."), usage=UNKNOWN),
        ]
        self.model = ScriptedModel(script=self._turn, facts=WINDOW)

    def _turn(self, request: ModelRequest, _number: int) -> Turn:
        if request.source.name == "compact":
            self.summaries += 1
            return Reply(say(self._summary), usage=UNKNOWN)
        if self._first:
            return self._first.pop(0)
        if self.summaries < self.until and self.looked < self.most_looks:
            self.looked += 1
            return Reply(call("Look", f"t{self.looked}", number=self.looked), usage=UNKNOWN)
        return Reply(say("So far so good."), usage=UNKNOWN)


def looking_tool() -> Tool:
    async def look(tool_input: Mapping[str, Any], _context: ToolContext) -> str:
        return f"part {tool_input['number']}: all is as it was expected to be\n" * 350

    return fake_tool(
        "Look", look, input_schema={"type": "object", "properties": {"number": {"type": "integer"}}}
    )


def given(folder: Path, model: ScriptedModel, **more: Any) -> Options:
    return Options(
        cwd=folder,
        model=model,
        extra_tools=[looking_tool()],
        allowed_tools=["Look", "Bash", "Edit", "Read"],
        environment={"HOME": str(folder), "OSTINATO_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"},
        **more,
    )


def project(folder: Path) -> Path:
    folder.joinpath("AGENTS.md").write_text("Keep every line below 100 characters (rule-7431).\n")
    folder.joinpath("importer_notes.py").write_text("old = 1\n")
    return folder


async def said(engine: QueryEngine, prompt: str) -> list[Event]:
    return [event async for event in engine.submit_message(prompt)]


def known(request: ModelRequest) -> set[str]:
    text = f"{request.system}{request.messages}"
    return {name for name, sign in PLANTED.items() if sign in text}


async def test_what_a_summary_leaves_out_is_known_all_the_same_but_for_what_only_it_could_know(
    tmp_path: Path,
):
    forgetful = Forgetful()
    assert pasted_tokens() > 20_000
    async with open_engine(given(project(tmp_path), forgetful.model)) as engine:
        for prompt in (FIRST, "And write tests for it.", CONSTRAINT, *PASTED):
            await said(engine, prompt)
        for summaries in (1, 3):
            forgetful.until = max(summaries, forgetful.summaries)
            assert result(await said(engine, NEWEST)).terminal_reason == "completed"
            assert known(forgetful.model.requests[-1]) == set(PLANTED) - LOST
        session = engine.session_id
    again = given(tmp_path, forgetful.model, resume=session)
    async with open_engine(again) as engine:
        forgetful.until, first = 10, len(forgetful.model.requests)
        assert result(await said(engine, NEWEST)).terminal_reason == "completed"
        assert forgetful.summaries == 10
        # The task ended with the process that had started it, and that is said instead.
        assert known(forgetful.model.requests[-1]) == set(PLANTED) - LOST - {"running task"}
        assert "does not run any more" in str(forgetful.model.requests[first].messages)


async def test_where_no_summary_can_be_had_an_account_without_the_model_knows_the_same(tmp_path: Path):
    unable = Forgetful("no", most_looks=10)
    async with open_engine(given(project(tmp_path), unable.model)) as engine:
        events: list[Event] = []
        for prompt in (FIRST, "And write tests for it.", CONSTRAINT, *PASTED):
            events += await said(engine, prompt)
        unable.until = 100
        last = await said(engine, NEWEST)
        boundaries = [record for record in engine.history.log() if isinstance(record, Boundary)]
        view = engine.history.view()
    assert result(last).terminal_reason == "completed"
    told = [event.message for event in (*events, *last) if isinstance(event, SystemEvent)]
    assert [one.text for one in told if one.subtype == "compact_boundary"] == [WITHOUT_MODEL] * len(
        boundaries
    )
    assert {boundary.trigger for boundary in boundaries} == {"reactive"}
    assert known(unable.model.requests[-1]) >= set(PLANTED) - LOST
    again = ScriptedModel(Reply(say("yes")), facts=WINDOW)
    async with open_engine(given(tmp_path, again, resume=engine.session_id)) as resumed:
        assert resumed.history.view()[: len(view)] == view
