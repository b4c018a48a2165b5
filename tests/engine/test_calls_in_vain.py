"""Nobody is asked about a call that cannot succeed: the model reads what is wrong with it, and no denial is counted."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.engine.test_stopping import options, play
from tests.tools.file_changers import CHANGERS, STEP, TEXT, Changer

from ostinato import Allow, PermissionAsked
from ostinato.engine.gate import Gate as EngineGate
from ostinato.events import Event, ToolEnd
from ostinato.messages import ToolResult, ToolUse
from ostinato.option_values import PermissionMode
from ostinato.permissions.verdict import Policy
from ostinato.ports import Denied, PermissionQuery, Workspace
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing import Gate, ManualAbort, Reply, ScriptedModel, call, call_with, fake_tool, result, say
from ostinato.tool import Access
from ostinato.tools.switched_off import NO_SEARCH, NOBODY_TO_ASK
from ostinato.tools.write import write_tool


class Person:
    """Says yes to everything, and remembers what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, asked: PermissionAsked) -> Allow:
        self.asked.append(asked.tool_use_id)
        return Allow()


class Played:
    """What became of the calls of one or several replies."""

    def __init__(self, model: ScriptedModel, events: Sequence[Event]) -> None:
        self.ends = [event.outcome for event in events if isinstance(event, ToolEnd)]
        self.denials = [denial.tool_use_id for denial in result(events).denials]
        self.results = [
            block
            for message in model.requests[-1].messages
            for block in message.content
            if isinstance(block, ToolResult)
        ]

    @property
    def texts(self) -> list[str]:
        assert all(one.is_error for one in self.results)
        return [str(one.content) for one in self.results]


async def played(tmp_path: Path, *replies: Sequence[ToolUse], **more: Any) -> Played:
    model = ScriptedModel(*(Reply(*calls) for calls in replies), Reply(say("done")))
    return Played(model, await play(options(tmp_path, model, **more)))


SEARCH = call("WebSearch", "t1", query="pens")
MODES: list[PermissionMode] = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
ASKING: list[PermissionMode] = ["default", "dontAsk"]
"""Those in which a look may be taken at a change."""


@pytest.mark.parametrize("mode", MODES)
async def test_without_a_search_service_every_mode_says_what_to_set_up(tmp_path: Path, mode: PermissionMode):
    found = await played(tmp_path, [SEARCH], permission_mode=mode)
    assert (found.texts, found.ends, found.denials) == ([NO_SEARCH], ["error"], [])


OFF: list[tuple[str, Mapping[str, Any], str]] = [
    ("WebSearch", {"query": "pens"}, NO_SEARCH),
    ("AskUserQuestion", {"questions": []}, NOBODY_TO_ASK),
]


@pytest.mark.parametrize(("name", "given", "why"), OFF, ids=[name for name, _, _ in OFF])
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_switched_off_asks_nobody_even_where_a_rule_says_ask(
    tmp_path: Path, name: str, given: Mapping[str, Any], why: str, mode: PermissionMode
):
    person = Person()
    settings = json.dumps({"permissions": {"ask": [name]}})
    found = await played(
        tmp_path,
        [call_with(name, "t1", given)],
        can_use_tool=person,
        settings=settings,
        permission_mode=mode,
    )
    assert (found.texts, person.asked, found.denials) == ([why], [], [])


@pytest.mark.parametrize("mode", MODES)
async def test_a_deny_rule_for_what_is_switched_off_says_nothing_of_that(
    tmp_path: Path, mode: PermissionMode
):
    """One for the whole tool takes it away altogether."""
    part, whole = [
        await played(tmp_path, [SEARCH], disallowed_tools=[rule], permission_mode=mode)
        for rule in ("WebSearch(query:pens)", "WebSearch")
    ]
    assert (part.ends, part.denials) == (["denied"], ["t1"])
    assert (whole.ends, whole.denials) == (["error"], [])
    assert NO_SEARCH not in (*part.texts, *whole.texts)


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture(params=CHANGERS, ids=lambda changer: changer.tool)
def changer(request: pytest.FixtureRequest) -> Changer:
    return request.param


def look(changer: Changer) -> ToolUse:
    return call("Read", "look", file_path=changer.file)


def change(changer: Changer, call_id: str = "t1", path: str | None = None) -> ToolUse:
    return call_with(changer.tool, call_id, changer.call(path))


@pytest.mark.parametrize("mode", ASKING)
async def test_nobody_is_asked_about_a_file_that_was_not_read(
    tmp_path: Path, changer: Changer, mode: PermissionMode
):
    (tmp_path / changer.file).write_text(changer.before)
    person = Person()
    found = await played(tmp_path, [change(changer)], can_use_tool=person, permission_mode=mode)
    assert ["Read it first" in text for text in found.texts] == [True]
    assert (person.asked, found.ends, found.denials) == ([], ["error"], [])


async def test_without_anybody_to_ask_it_is_the_same(tmp_path: Path, changer: Changer):
    (tmp_path / changer.file).write_text(changer.before)
    found = await played(tmp_path, [change(changer, "t1"), change(changer, "t2")])
    assert ["Read it first" in text for text in found.texts] == [True, True]
    assert found.denials == []


async def test_nobody_is_asked_about_a_file_that_has_changed_since(tmp_path: Path, changer: Changer):
    path, gate, person = tmp_path / changer.file, Gate(), Person()
    path.write_text(changer.before)
    events: list[Event] = []
    model = ScriptedModel(Reply(look(changer)), Reply(gate, change(changer)), Reply(say("done")))

    async def others_change_it() -> None:
        await gate.reached()
        await anyio.Path(path).write_text(changer.before + " ")
        gate.open()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others_change_it)
        events = await play(options(tmp_path, model, can_use_tool=person))
    found = Played(model, events)
    assert (person.asked, found.ends, found.denials) == ([], ["ok", "error"], [])
    assert "has changed on disk" in str(found.results[-1].content)


async def test_what_may_succeed_is_asked(tmp_path: Path, changer: Changer):
    (tmp_path / changer.file).write_text(changer.before)
    person = Person()
    found = await played(tmp_path, [look(changer)], [change(changer)], can_use_tool=person)
    assert (person.asked, found.ends) == (["t1"], ["ok", "ok"])
    assert (tmp_path / changer.file).read_text() == changer.after


async def test_a_file_that_changes_while_the_person_decides_is_still_not_overwritten(
    tmp_path: Path, changer: Changer
):
    path = tmp_path / changer.file
    path.write_text(changer.before)
    asked: list[str] = []

    async def takes_time(question: PermissionAsked) -> Allow:
        asked.append(question.tool_use_id)
        path.write_text(changer.before + " ")
        return Allow()

    found = await played(tmp_path, [look(changer)], [change(changer)], can_use_tool=takes_time)
    assert (asked, found.ends) == (["t1"], ["ok", "error"])
    assert path.read_text() == changer.before + " "


async def test_a_file_that_is_read_by_the_same_reply_counts_as_read(tmp_path: Path, changer: Changer):
    """The look would come too early: the call waits for the one before it, as ever."""
    (tmp_path / changer.file).write_text(changer.before)
    person = Person()
    found = await played(tmp_path, [look(changer), change(changer)], can_use_tool=person)
    assert (person.asked, found.ends) == (["t1"], ["ok", "ok"])


UNMATCHED: list[tuple[str, Mapping[str, Any], str]] = [
    ("Edit", {"old_string": "nowhere", "new_string": "x"}, "old_string"),
    ("Edit", {"old_string": "s", "new_string": "x"}, "appears 2 times"),
    ("MultiEdit", {"edits": [STEP, {"old_string": "nowhere", "new_string": "x"}]}, "edit 2 of 2"),
]


@pytest.mark.parametrize(("tool", "given", "why"), UNMATCHED, ids=["not there", "not unique", "the second"])
async def test_nobody_is_asked_about_an_edit_that_does_not_apply(
    tmp_path: Path, tool: str, given: Mapping[str, Any], why: str
):
    (tmp_path / "f.txt").write_text(TEXT)
    person = Person()
    read = call("Read", "look", file_path="f.txt")
    edit = call_with(tool, "t1", {"file_path": "f.txt", **given})
    found = await played(tmp_path, [read], [edit], can_use_tool=person)
    assert (person.asked, found.ends, found.denials) == ([], ["ok", "error"], [])
    assert why in str(found.results[-1].content)


# ------------------------------------------------------------------------------------------------ what a look must not tell


async def said_with_and_without(
    tmp_path: Path, file: Path, call_of_it: ToolUse, **more: Any
) -> tuple[list[str], list[str]]:
    """What the model reads where the file is there, and where it is not."""
    file.parent.mkdir(exist_ok=True)
    without = await played(tmp_path / "work", [call_of_it], **more)
    await anyio.Path(file).write_text("an old secret")
    there = await played(tmp_path / "work", [call_of_it], **more)
    assert without.denials == there.denials == ["t1"]
    return there.texts, without.texts


@pytest.mark.parametrize(
    ("rule", "mode"),
    [
        *(("Edit({file})", mode) for mode in ("plan", *ASKING)),
        *(("Read({file})", mode) for mode in MODES),
    ],
)
async def test_a_deny_rule_comes_first_and_tells_nothing_of_the_file(
    tmp_path: Path, changer: Changer, rule: str, mode: PermissionMode
):
    file = tmp_path / "work" / changer.file
    there, without = await said_with_and_without(
        tmp_path,
        file,
        change(changer),
        disallowed_tools=[rule.format(file=changer.file)],
        allowed_tools=[changer.tool, "Edit(**)"],
        permission_mode=mode,
    )
    assert there == without


@pytest.mark.parametrize("mode", ASKING)
async def test_what_may_not_be_read_without_a_yes_is_not_looked_at(
    tmp_path: Path, changer: Changer, mode: PermissionMode
):
    """Outside of the folder, where reading is a question too."""
    (tmp_path / "work").mkdir()
    file = tmp_path / "others" / changer.file
    there, without = await said_with_and_without(
        tmp_path, file, change(changer, path=str(file)), permission_mode=mode
    )
    assert there == without


async def test_a_link_to_what_may_not_be_read_is_not_followed_by_a_look(tmp_path: Path, changer: Changer):
    file, link = tmp_path / "others" / changer.file, tmp_path / "work" / changer.file
    link.parent.mkdir()
    link.symlink_to(file)
    there, without = await said_with_and_without(tmp_path, file, change(changer))
    assert there == without


@pytest.mark.parametrize("rule_for", ["the name", "where it leads"])
async def test_where_reading_is_a_question_the_person_is_asked(
    tmp_path: Path, changer: Changer, rule_for: str
):
    link = tmp_path / changer.file
    file = link.with_stem("real")
    file.write_text(changer.before)
    link.symlink_to(file)
    person = Person()
    named = link if rule_for == "the name" else file
    settings = json.dumps({"permissions": {"ask": [f"Read({named.name})"]}})
    found = await played(tmp_path, [change(changer)], can_use_tool=person, settings=settings)
    assert (person.asked, found.ends) == (["t1"], ["error"])


@pytest.mark.parametrize(("also", "asked"), [("inside.txt", []), ("/etc/hostname", ["t1"])])
async def test_everything_that_a_tool_says_it_touches_counts_for_its_look(
    tmp_path: Path, also: str, asked: list[str]
):
    async def in_vain(_input: object, _context: object) -> str:
        return "in vain"

    def touches(_input: object, workspace: Workspace) -> Access:
        return Access(reads=(workspace.resolve("named.txt"), workspace.resolve(also)))

    tool = replace(fake_tool("Compare", access=touches), cannot_succeed=in_vain)
    person = Person()
    compare = call("Compare", "t1", path="named.txt")
    found = await played(tmp_path, [compare], extra_tools=[tool], can_use_tool=person)
    assert (person.asked, found.ends) == (asked, ["ok" if asked else "error"])


@pytest.mark.parametrize("rule", ["Read(f.txt)", "Read(//**)"])
@pytest.mark.parametrize("mode", ASKING)
async def test_a_rule_that_comes_while_a_look_waits_counts_for_what_it_tells(
    tmp_path: Path, mode: PermissionMode, rule: str
):
    """A look waits for the calls before it where nobody can be asked; the rule came meanwhile."""
    gate = EngineGate(
        Policy(mode), None, home=tmp_path, builtin_names=frozenset({"Write"}), mask=lambda text: text
    )

    async def in_vain(*, is_patient: bool) -> str:
        assert is_patient
        gate.add_rules([rule], "deny")
        return "it is there"

    workspace, given = LocalWorkspace(tmp_path, (tmp_path,)), {"file_path": "f.txt", "content": "x"}
    tool = write_tool()
    query = PermissionQuery(
        tool, "t1", given, workspace, ManualAbort(), tool.access(given, workspace), in_vain
    )
    assert isinstance(await gate.decide(query), Denied)
