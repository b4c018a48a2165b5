"""Arguments are data: verbatim in text, quoted in shell lines, and never read as a place, a shell line or a command."""

import subprocess
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.slash.scene import Stage

from ostinato.engine.slash.arguments import Unsafe, in_shell, read_arguments
from ostinato.engine.slash.template import Part, ShellLine, read_template, takes_arguments

HOSTILE = "A$&B $$ \\1 \\g<0> {x} %s {{y}} $ARGUMENTS $1 !`touch x` @a.txt"


async def test_an_argument_goes_in_once_and_verbatim(stage: Stage):
    stage.user_command("say", "before $ARGUMENTS after")
    for argument in (HOSTILE, "a\\1 $ARGUMENTS {b}", "one\n\ntwo", "中文 👨‍👩‍👧 ✓", "'", '"'):
        assert (await stage.expanded(f"/say {argument}")).prompt == f"before {argument} after"
    assert stage.ran == []


async def test_numbered_arguments_are_words_as_a_shell_cuts_them(stage: Stage):
    stage.user_command("pick", "1:$1 2:$2 9:$9 all:$ARGUMENTS third:$ARGUMENTS[2] ten:$10 esc:\\$1 x$1y")
    expanded = await stage.expanded("/pick one 'two words' three")
    assert expanded.prompt == (
        "1:one 2:two words 9: all:one 'two words' three third:three ten:$10 esc:\\$1 xoney"
    )


async def test_quotes_that_do_not_close_are_letters(stage: Stage):
    stage.user_command("pick", "$1|$2")
    assert (await stage.expanded("/pick don't stop")).prompt == "don't|stop"


async def test_arguments_that_go_nowhere_stand_behind_the_text(stage: Stage):
    stage.user_command("fix", "Fix it.")
    assert (await stage.expanded("/fix the $ARGUMENTS")).prompt == "Fix it.\n\nARGUMENTS: the $ARGUMENTS"
    assert (await stage.expanded("/fix")).prompt == "Fix it."


@given(st.text(alphabet="ab $1`!\n[]@{}\\ARGUMENTS'\""))
def test_the_parts_of_a_template_are_the_whole_of_it(body: str):
    def text(parts: Sequence[Part]) -> str:
        return "".join(
            f"!`{text(part.parts)}`" if isinstance(part, ShellLine) else getattr(part, "text", "")
            for part in parts
        )

    parts = read_template(body)
    if not takes_arguments(parts):
        assert text(parts) == body


# ------------------------------------------------------------------------------------------------ in shell lines


def line(template: str, arguments: str) -> str | Unsafe:
    parts = read_template(f"!`{template}`")[0]
    assert isinstance(parts, ShellLine)
    return in_shell(parts.parts, read_arguments(arguments))


def test_harmless_words_are_put_in_as_they_are():
    assert line("git log --oneline -n $1 -- $2", "5 src/a.py") == "git log --oneline -n 5 -- src/a.py"
    assert line("git log $ARGUMENTS", "") == "git log "


@pytest.mark.parametrize(
    "template",
    [
        "printf %s $1",
        "printf %s '$1'",
        'printf %s "$1"',
        "printf %s a\\ b$1",
        "'printf' %s $1",
        '"printf" %s "$1"',
        'printf %s "it\'s"$1',
    ],
)
@pytest.mark.parametrize(
    "argument",
    ["$(touch x)", "`touch x`", "a; touch x", "a\ntouch x", "'; touch x; '", '"$HOME"', "*", "\\", "!x"],
)
@pytest.mark.process
def test_a_shell_prints_the_argument_and_runs_none_of_it(template: str, argument: str):
    quoted = "'" + argument.replace("'", "'\\''") + "'"
    parts = read_template(f"!`{template}`")[0]
    assert isinstance(parts, ShellLine)
    made = in_shell(parts.parts, read_arguments(quoted))
    assert isinstance(made, str)
    done = subprocess.run(["bash", "-c", made], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(argument)


@pytest.mark.parametrize(
    "template",
    [
        "echo $(echo $1)",
        'echo "$(echo $1)"',
        "cat <<E $1",
        "echo ${x:-$1}",
        "echo $'$1'",
        "echo # $1",
        "echo \\$1 \\",
    ],
)
def test_where_the_quoting_is_unclear_only_harmless_arguments_are_taken(template: str):
    assert isinstance(line(template, "'a; b'"), Unsafe) or "$1" not in template.replace("\\$1", "")
    assert isinstance(line(template, "harmless/name.py"), str)


@settings(max_examples=30, deadline=None)
@pytest.mark.process
@given(st.text(alphabet=st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12))
def test_any_argument_comes_out_of_a_shell_as_it_went_in(argument: str):
    for template in ("printf %s $1", "printf %s '$1'", 'printf %s "$1"'):
        quoted = "'" + argument.replace("'", "'\\''") + "'"
        made = line(template, quoted)
        assert isinstance(made, str)
        done = subprocess.run(["bash", "-c", made], capture_output=True, check=True)
        assert done.stdout.decode() == argument
