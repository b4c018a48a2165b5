"""From a typed line to what becomes of it: nothing that is a command reaches a model, nothing else is kept from it."""

import pytest
from tests.engine.slash.scene import Stage

from ostinato.engine.slash.builtin import BUILTINS
from ostinato.engine.slash.command_line import read_command_line
from ostinato.engine.slash.command_list import list_commands
from ostinato.engine.slash.dispatch import dispatch
from ostinato.engine.slash.registry import ANSWERS
from ostinato.engine.slash.reply import NotACommand, SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import columns_of

MARKUP = (
    "[/dim] [bold a[0] [=x [link=…] [/] \\[ :warning: \x1b]0;title\x07 \x9b31m \u202edeceptive\u2066 \u200b"
)


@pytest.mark.parametrize("prompt", ["hello", "/etc/hosts is wrong", " /cost", "/* x */"])
async def test_what_is_no_command_is_passed_on_without_a_look_at_anything(prompt: str):
    def no_scene() -> SlashScene:
        raise AssertionError("looked")

    assert await dispatch(prompt, no_scene) == NotACommand()


async def test_an_unknown_command_is_said_with_the_nearest_and_sends_nothing(stage: Stage):
    stage.user_command("review-code", "text")
    for typed, near in (
        ("/hlep", "`/help`"),
        ("/costs", "`/cost`"),
        ("/review", "`/review-code`"),
        ("/perm", "`/permissions`"),
    ):
        reply = await stage.reply(typed)
        assert reply.is_error
        assert near in reply.text
    assert (await stage.reply("/zzzzz")).is_error


async def test_built_in_commands_win_over_files_which_keep_their_long_names(stage: Stage):
    stage.project_command("cost", "the project's cost")
    stage.user_command("Quit", "the user's quit")
    assert not (await stage.reply("/cost")).is_error
    assert (await stage.reply("/quit")).next_step is not None
    assert (await stage.expanded("/project:cost")).prompt == "the project's cost"
    assert (await stage.expanded("/user:Quit")).prompt == "the user's quit"
    names = [entry.name for entry in list_commands(stage.places)]
    assert names == [*(one.name for one in BUILTINS), "project:cost", "user:Quit"]


async def test_a_command_that_takes_no_arguments_does_nothing_when_it_gets_some(stage: Stage):
    for builtin in BUILTINS:
        if not builtin.argument_hint:
            reply = await stage.reply(f"/{builtin.name} now")
            assert reply.is_error
            assert reply.next_step is None


async def test_every_built_in_command_answers_and_can_be_typed(stage: Stage):
    assert set(ANSWERS) == {one.name for one in BUILTINS}
    for builtin in BUILTINS:
        for name in (builtin.name, builtin.name.upper(), *builtin.aliases):
            assert read_command_line(f"/{name}") is not None
            assert not (await stage.reply(f"/{name}")).is_error
        assert builtin.description


async def test_no_text_of_others_reaches_the_screen_as_anything_but_text(stage: Stage):
    """In names, descriptions, hints, problems, arguments and rules."""
    stage.project_command("x", f"---\ndescription: {MARKUP}\nargument-hint: {MARKUP}\n---\ntext")
    stage.project_command("y", f"---\nallowed-tools: {MARKUP}\n---\ntext")
    stage.project_command("bad\x1b[2J\u202e", "text")
    lines = (
        "/help",
        "/help x",
        f"/help {MARKUP}",
        f"/permissions {MARKUP}",
        f"/model {MARKUP}",
        f"/resume {MARKUP}",
    )
    for line in (*lines, "/permissions explain 'rm \x1b[2J'", f"/export {MARKUP}/x"):
        reply = await stage.reply(line)
        assert reply.text
        assert not set(reply.text) & set("\x1b\x07\x9b\u202e\u2066\u200b"), line
    assert "[/dim] [bold a[0] [=x [link=…] [/] \\[ :warning:" in (await stage.reply("/help x")).text


async def test_help_lists_everything_and_names_what_cannot_be_used(stage: Stage):
    stage.project_command("team/review", "---\ndescription: Look: closely\nargument-hint: <file>\n---\ntext")
    stage.user_command("broken", "")
    text = (await stage.reply("/help")).text
    assert all(f"/{one.name}" in text for one in BUILTINS)
    assert "/team:review <file>" in text
    assert "Look: closely" in text
    assert "broken.md" in text
    assert isinstance(await stage.type("/help team:review"), SlashReply)
    assert (await stage.reply("/help nonsense")).is_error


async def test_wide_and_combining_characters_keep_the_columns_of_a_list(stage: Stage):
    descriptions = {"中文命令": "wide", "e\u0301te\u0301": "combining", "plain": "plain"}
    for name, description in descriptions.items():
        stage.user_command(name, f"---\ndescription: {description}\n---\ntext")
    starts = {
        columns_of(line[: line.index(f"  {text}")])
        for line in (await stage.reply("/help")).text.splitlines()
        for text in descriptions.values()
        if f"  {text}" in line
    }
    assert len(starts) == 1
