"""A permission question shows what would run, all of it, and nothing that only looks like it."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato.cli.question_text import MAX_VALUE_LINES, answer_letters, question_text
from ostinato.engine.options import PermissionAsked


def text_of(tool: str, *suggestions: str, reason: str = "", cwd: Path = Path("/"), **given: Any) -> str:
    return question_text(PermissionAsked(tool, "t1", given, reason, suggestions), cwd, Path.home())


def test_a_command_is_never_cut():
    lines = [f"echo {number}" for number in range(MAX_VALUE_LINES * 5)]
    shown = text_of("Bash", command="\n".join(lines))
    assert all(f"  │ {line}\n" in shown for line in lines)


def test_of_a_long_content_it_says_how_much_is_left_out():
    shown = text_of("Write", file_path="/x", content="line\n" * (MAX_VALUE_LINES + 9))
    assert shown.count("│ line\n") == MAX_VALUE_LINES
    assert "10 more lines" in shown


@pytest.mark.parametrize(
    "hidden", ["\x1b[2K", "\r", "\x9b", "\u202e", "\u200b", "\u00a0", "\U000e0041", "\x00"]
)
@pytest.mark.parametrize("where", ["tool", "name", "value", "path", "reason", "rule"])
def test_hidden_characters_are_written_out_wherever_they_come_from(hidden: str, where: str):
    text = f"a{hidden}b"
    given = {text if where == "name" else "command": text if where == "value" else "ls"}
    asked = PermissionAsked(
        tool_name=text if where == "tool" else "Bash",
        tool_use_id="t1",
        input=given | ({"file_path": text} if where == "path" else {}),
        reason=text if where == "reason" else "",
        suggestions=(text if where == "rule" else "Bash(ls)",),
    )
    shown = question_text(asked, Path("/"), None)
    assert hidden not in shown
    assert f"\\u{{{ord(hidden[0]):x}}}" in shown


@pytest.mark.parametrize("where", ["tool", "name", "value", "reason", "rule"])
def test_no_line_of_others_looks_like_a_line_of_ours(where: str):
    forged = "x\ny  yes, this once\nallow? "
    asked = PermissionAsked(
        tool_name=forged if where == "tool" else "Bash",
        tool_use_id="t1",
        input={forged if where == "name" else "command": forged if where == "value" else "ls"},
        reason=forged if where == "reason" else "",
        suggestions=(forged if where == "rule" else "Bash(ls)",),
    )
    lines = question_text(asked, Path("/"), None).split("\n")
    assert lines.count("y  yes, this once") == 1
    assert not [line for line in lines if line.startswith("allow?")]


def test_a_path_is_shown_as_written_and_where_it_leads(tmp_path: Path):
    (tmp_path / "link").symlink_to("/etc")
    shown = text_of("Write", file_path="link/../passwd", content="", cwd=tmp_path)
    assert "link/../passwd" in shown
    assert "which is: /passwd\n" in shown


@pytest.mark.parametrize(
    ("rules", "file", "letters"),
    [
        ((), Path("/p/settings.json"), ("y", "n")),
        (("Bash(git log:*)",), None, ("y", "c", "n")),
        (("Bash(git log:*)",), Path("/p/settings.json"), ("y", "c", "a", "n")),
    ],
)
def test_what_is_remembered_stands_there_with_the_rules_it_means_and_where_it_is_written(
    rules: tuple[str, ...], file: Path | None, letters: tuple[str, ...]
):
    asked = PermissionAsked("Bash", "t1", {"command": "git log"}, "", rules, file)
    lines = question_text(asked, Path("/"), None).splitlines()
    assert answer_letters(asked) == letters
    assert [line[0] for line in lines if line[1:3] == "  "] == list(letters)
    assert all(str(file) in line and rules[0] in line for line in lines if line.startswith("a  "))


@pytest.mark.parametrize(
    "markup", ["[/dim]", "[bold", "a[0]", "[link=x]", "[/]", "\\[", ":warning:", "<b>", "{x}"]
)
def test_nothing_is_markup(markup: str):
    assert f"command: {markup}\n" in text_of("Bash", command=markup)


def test_a_command_shows_where_its_links_lead_and_a_name_can_draw_no_line_of_its_own():
    links = ((Path("/w/notes.txt"), Path("/out/t\ny  yes")), (Path("/w/a\nb"), Path("/out/b")))
    asked = PermissionAsked("Bash", "t1", {"command": "rm notes.txt"}, "", links=links)
    shown = question_text(asked, Path("/w"), None)
    assert "/w/notes.txt, which leads to /out/t" in shown
    assert "which leads to /out/b\n" in shown
    assert (
        len(shown.splitlines())
        == len(question_text(replace(asked, links=()), Path("/w"), None).splitlines()) + 2
    )
    many = replace(asked, links=links * MAX_VALUE_LINES)
    assert f"{MAX_VALUE_LINES} more" in question_text(many, Path("/w"), None)
