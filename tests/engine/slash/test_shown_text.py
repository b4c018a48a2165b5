"""Names in lists: cut and lined up by columns, at home with a tilde, near ones found whatever their case."""

from pathlib import Path

from ostinato.engine.slash.near_names import MAX_NAMES, did_you_mean, near_names
from ostinato.engine.slash.shown_text import columns_of, padded, shown_line, shown_path


def test_a_line_is_cut_between_characters_and_never_wider_than_it_may_be():
    for text in ("中文" * 50, "a" * 100, "e\u0301" * 100, "a中" * 60, "\U0001f600" * 60):
        for columns in range(2, 40):
            line = shown_line(text, columns)
            assert columns - 2 <= columns_of(line) <= columns
            assert line.endswith("…")
    assert shown_line("中文", 4) == "中文"
    assert shown_line(" a \n\t b ", 10) == "a b"
    assert columns_of(padded("中", 5)) == 5
    assert padded("long", 2) == "long"


def test_a_path_in_the_home_folder_begins_with_a_tilde():
    home = Path("/home/x")
    assert shown_path(home / "a" / "b", home) == "~/a/b"
    assert shown_path(home, home) == "/home/x"
    assert shown_path(Path("/home/xy"), home) == "/home/xy"
    assert shown_path(Path("/a\x1b[2J")) == "/a\\u{1b}[2J"


def test_near_names_are_found_by_likeness_and_by_beginning_whatever_their_case():
    known = ["cost", "config", "Review-All", "review-some", "exit"]
    assert near_names("cots", known)[0] == "cost"
    assert near_names("REVIEW", known) == ("Review-All", "review-some")
    assert near_names("exitt", known) == ("exit",)
    assert near_names("zzz", known) == ()
    assert len(near_names("a", [f"ab{number}" for number in range(9)])) <= MAX_NAMES
    assert did_you_mean(("a", "b")) == "did you mean `a` or `b`?"
    assert did_you_mean(()) == ""
