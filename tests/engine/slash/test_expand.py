"""A command file becomes a prompt: shell lines only under gate and trust, rights only where they were given."""

import hashlib
from pathlib import Path

import pytest
from tests.engine.slash.scene import Stage, write

from ostinato.config.load import effective, load_settings
from ostinato.config.places import Places
from ostinato.engine.slash.scene import SettingsInForce
from ostinato.engine.slash.shell_lines import MAX_LINES
from ostinato.testing import DENIED, AllowAll, AnswersAt, DenyAll, Gate, ScriptedPermissions

SHELL = "---\nallowed-tools: Bash(git status:*)\nmodel: haiku\n---\nThe status: !`git status`\nGo on."


async def test_the_output_of_a_shell_line_stands_in_its_place(stage: Stage):
    stage.user_command("look", SHELL)
    expanded = await stage.expanded("/look")
    assert expanded.prompt == "The status: the output\nGo on."
    assert stage.ran == ["git status"]
    assert [str(rule) for rule in stage.given_rules[0]] == ["Bash(git status:*)"]


async def test_what_a_shell_line_prints_is_no_shell_line_no_place_and_no_mention(stage: Stage):
    stage.output = "!`touch x` $ARGUMENTS @secret.txt"
    stage.user_command("look", "a !`git status` b $1")
    expanded = await stage.expanded("/look @mine.txt")
    assert expanded.prompt == f"a {stage.output} b @mine.txt"
    assert expanded.mentioned_in == "a  b @mine.txt"
    assert stage.ran == ["git status"]


async def test_a_failure_is_said_where_the_output_would_stand(stage: Stage):
    stage.output, stage.exit_code = "fatal: no repository", 128
    stage.user_command("look", SHELL)
    prompt = (await stage.expanded("/look")).prompt
    assert "fatal: no repository" in prompt
    assert "128" in prompt


async def test_the_output_of_all_lines_is_bounded(stage: Stage):
    stage.output = "x" * 29_000
    stage.user_command("look", "!`echo 1`\n" * MAX_LINES)
    assert len((await stage.expanded("/look")).prompt) < 205_000


async def test_more_shell_lines_than_anybody_needs_are_refused(stage: Stage):
    stage.user_command("look", "!`echo 1`\n" * (MAX_LINES + 1))
    assert (await stage.reply("/look")).is_error
    assert stage.ran == []


async def test_a_denied_line_sends_nothing_and_runs_none_after_it(stage: Stage):
    stage.gate = DenyAll()
    stage.user_command("look", "!`echo 1` !`echo 2`")
    assert (await stage.reply("/look")).is_error
    assert stage.ran == []
    assert [query.input["command"] for query in stage.gate.queries] == ["echo 1"]
    assert [(one.behaviour, one.wanted) for one in stage.recorded] == [("deny", "echo 1")]


async def test_the_gate_judges_the_line_with_the_arguments_in_it(stage: Stage):
    stage.user_command("show", "!`git show $1`")
    await stage.expanded("/show 'a; rm -rf b'")
    assert stage.gate.queries[0].input["command"] == "git show 'a; rm -rf b'"
    assert stage.ran == ["git show 'a; rm -rf b'"]


async def test_the_settings_may_turn_shell_lines_off(stage: Stage):
    write(stage.home / ".ostinato" / "settings.json", '{"disableSkillShellExecution": true}')
    loaded = load_settings(Places(stage.project, stage.home / ".ostinato", None, ()))
    stage.changes = {"settings": SettingsInForce(effective(loaded, is_trusted=True))}
    stage.user_command("look", SHELL)
    stage.user_command("say", "Say it.")
    assert (await stage.reply("/look")).is_error
    assert stage.ran == []
    assert (await stage.expanded("/say")).prompt == "Say it."


async def test_an_empty_prompt_is_not_sent(stage: Stage):
    stage.user_command("pick", "$1 $2")
    assert (await stage.reply("/pick")).is_error
    assert (await stage.expanded("/pick one")).prompt == "one "


async def test_without_a_bash_tool_nothing_runs(stage: Stage):
    stage.changes = {"tools": ()}
    stage.user_command("look", SHELL)
    assert (await stage.reply("/look")).is_error
    assert stage.ran == []


async def test_an_interrupt_ends_the_wait_for_an_answer(stage: Stage):
    gate = Gate()
    stage.gate = ScriptedPermissions(otherwise=AnswersAt(gate, DENIED))
    stage.abort.abort("user")
    stage.user_command("look", SHELL)
    assert (await stage.reply("/look")).is_error
    assert stage.ran == []


# ------------------------------------------------------------------------------------------------ trust

WAYS = {
    "inline": "a !`touch ran`",
    "at the start": "!`touch ran`",
    "in a list": "- x: !`touch ran`",
    "in a code block": "```\n!`touch ran`\n```",
    "with an argument": "!`touch $1`",
    "as an argument's place": "$1 !`touch ran`",
}


@pytest.mark.parametrize("body", WAYS.values(), ids=WAYS)
async def test_nothing_of_a_project_runs_before_it_is_trusted(stage: Stage, body: str):
    stage.project_command("look", body)
    for line in ("/look", "/look ran", "/LOOK", "/project:look"):
        assert (await stage.reply(line)).is_error
    assert stage.ran == []
    assert isinstance(stage.gate, AllowAll)
    assert stage.gate.queries == []


async def test_a_trusted_projects_lines_run_after_the_gate_was_asked(stage: Stage):
    stage.project_command("look", SHELL)
    stage.trust_the_project()
    expanded = await stage.expanded("/look")
    assert stage.ran == ["git status"]
    assert len(stage.gate.queries) == 1
    assert [str(rule) for rule in expanded.allowed_tools] == ["Bash(git status:*)"]
    assert expanded.model == "haiku"


async def test_trust_is_for_the_bytes_that_were_there(stage: Stage):
    path = stage.project_command("look", SHELL)
    stage.trust_the_project()
    path.write_text(SHELL.replace("git status`", "touch ran`"))
    assert (await stage.reply("/look")).is_error
    stage.project_command("new", SHELL)
    assert (await stage.reply("/new")).is_error
    path.write_text(SHELL)
    await stage.expanded("/look")
    assert stage.ran == ["git status"]


async def test_a_links_own_text_cannot_pass_for_the_digest_of_what_it_leads_to(stage: Stage):
    evil = "!`touch ran`"
    digest = hashlib.sha256(evil.encode()).hexdigest()
    folder = stage.project_command("other", "x").parent
    for name in (f"a {digest}", f"{digest} b", f"c {digest} executable"):
        target = folder.parent / name
        target.write_text("harmless")
        link = folder / "look.md"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        stage.trust_the_project()
        assert (await stage.expanded("/look")).prompt == "harmless"
        target.write_text(evil)
        assert (await stage.reply("/look")).is_error
        assert stage.ran == []


async def test_a_file_that_may_be_executed_is_trusted_all_the_same(stage: Stage):
    stage.project_command("look", SHELL).chmod(0o755)
    stage.trust_the_project()
    await stage.expanded("/look")
    assert stage.ran == ["git status"]


async def test_a_model_that_there_is_not_is_said_before_anything_runs(stage: Stage):
    stage.user_command("look", SHELL.replace("haiku", "haikku"))
    reply = await stage.reply("/look")
    assert reply.is_error
    assert "`/look`" in reply.text
    assert "haiku" in reply.text
    assert stage.ran == []


async def test_an_untrusted_projects_rules_and_model_do_not_count_and_that_is_said(stage: Stage):
    for front in ("allowed-tools: Bash\nmodel: opus", "allowed-tools: Bash", "model: opus"):
        stage.project_command("fix", f"---\n{front}\n---\nFix it.")
        expanded = await stage.expanded("/fix")
        assert (expanded.prompt, expanded.allowed_tools, expanded.model) == ("Fix it.", (), None)
        assert len(expanded.notices) == 1


async def test_a_plain_text_of_an_untrusted_project_is_a_prompt_like_any_other(stage: Stage):
    stage.project_command("fix", "Fix $1.")
    expanded = await stage.expanded("/fix it")
    assert (expanded.prompt, expanded.notices) == ("Fix it.", ())


async def test_a_link_in_the_project_to_a_users_command_has_no_more_rights_for_that(
    stage: Stage, tmp_path: Path
):
    own = stage.project / "own.md"
    own.write_text(SHELL)
    folder = stage.project / ".ostinato" / "commands"
    folder.mkdir(parents=True)
    (folder / "look.md").symlink_to(own)
    assert (await stage.reply("/look")).is_error
    stage.trust_the_project()
    await stage.expanded("/look")
    assert stage.ran == ["git status"]
