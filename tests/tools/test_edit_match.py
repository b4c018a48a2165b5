"""An edit applies in the one place it names, or says why not in words that help."""

import random
import time
from collections.abc import Callable

import pytest

from ostinato.tools.edit_match import Matched, NotMatched, match_edit
from ostinato.tools.line_ends import text_with_ends


def match(normal: str, old: str, new: str = "NEW", *, replace_all: bool = False, forgiving: bool = False):
    return match_edit(text_with_ends(normal), old, new, replace_all=replace_all, forgiving=forgiving)


def why_not(normal: str, old: str, *, replace_all: bool = False, forgiving: bool = False) -> str:
    found = match(normal, old, replace_all=replace_all, forgiving=forgiving)
    assert isinstance(found, NotMatched)
    return found.reason


def changed(normal: str, old: str, new: str) -> str:
    found = match(normal, old, new, forgiving=True)
    assert isinstance(found, Matched)
    assert found.is_forgiven
    ((start, end),) = found.spans
    return normal[:start] + found.new + normal[end:]


def test_the_only_place_matches():
    assert match("abc", "b") == Matched(((1, 2),), "NEW")


def test_several_places_are_named_by_line():
    reason = why_not("x\ny\nx\nx\n", "x")
    assert "3 times" in reason
    assert "1, 3, 4" in reason


@pytest.mark.parametrize(
    ("has", "wanted"), [("say \u201chi\u201d", 'say "hi"'), ("it's", "it\u2019s")], ids=["curly", "plain"]
)
def test_a_text_with_other_quotes_is_another_text_and_the_files_own_is_shown(has: str, wanted: str):
    reason = why_not(f"first\n{has} here\nlast\n", wanted)
    assert "quotes" in reason
    assert f"2\t{has} here" in reason
    assert isinstance(match(f"{has} here", wanted, forgiving=True), NotMatched)


def test_places_that_overlap_are_two_places():
    assert "2 times" in why_not("aaa", "aa")
    assert match("aaa", "aa", replace_all=True) == Matched(((0, 2),), "NEW")


def test_all_places_are_taken_on_request():
    assert match("x y x", "x", replace_all=True) == Matched(((0, 1), (4, 5)), "NEW")


def test_white_space_alone_is_told_with_the_line_and_its_text():
    reason = why_not("def f():\n\treturn 1\n", "def f():\n    return 1")
    assert "white space at line 1" in reason
    assert "2\t\treturn 1" in reason


def test_the_most_similar_lines_are_shown_with_numbers():
    reason = why_not("alpha\nvalue = compute(1)\nomega\n", "value = compute(2)")
    assert "2\tvalue = compute(1)" in reason


def test_line_numbers_copied_along_are_pointed_out():
    assert "line numbers" in why_not("a\n  b\n", "1\ta\n2\t  b")


def test_of_many_places_only_some_are_counted():
    for text in ("a" * 300, "a\r\n" * 300):
        reason = why_not(text, "a")
        assert "more than 100 times" in reason
        assert "many more" in reason
    assert "100 times" in why_not("a\n" * 100, "a")
    assert "90 more" in why_not("a\n" * 100, "a")
    assert "and many more" in why_not("a \n" * 300, "a\na")


ROWS = random.Random(7)
SAME_LETTERS = [f"{ROWS.getrandbits(199):0199b}" for _ in range(1000)]
COSTLY = {
    "lines of the same letters": ("\n".join(SAME_LETTERS[1:]), SAME_LETTERS[0]),
    "in millions of places": ("ab\r\n" * 1_000_000, "b\na"),
    "in millions of places that overlap": ("a" * 3_000_000, "a" * 1000),
    "lines with CRLF that repeat": (
        "ab\r\n" + "0\r\n" * 300_000 + "ab\r\n",
        "0\n" * 200 + "ab\nc",
    ),
    "lines that repeat": ("abc\n" * 100_000, "abc\n" * 5000 + "x"),
    "lines that repeat but for white space": ("abc \n" * 100_000, "abc\n" * 5000),
}


def cpu_s(work: Callable[[], object]) -> float:
    begun_s = time.process_time()
    work()
    return time.process_time() - begun_s


@pytest.mark.parametrize(("has", "wanted"), COSTLY.values(), ids=COSTLY)
def test_why_not_is_found_soon_whatever_the_file_is(has: str, wanted: str):
    """A person waits for it before they are asked. A slow machine is slow at counting too; without bounds it is minutes."""
    counting_s = cpu_s(lambda: sum(1 for _ in range(500_000)))
    assert cpu_s(lambda: why_not(has, wanted)) < 100 * counting_s


def test_nothing_similar_says_so():
    assert "Read" in why_not("alpha\n", "zzzzzzzzzzzz")


@pytest.mark.parametrize(
    "old", ["def f():\n    return 1  ", "  def f():\n      return 1", "def f():\n  return  1"]
)
def test_white_space_is_forgiven_only_when_asked(old: str):
    normal = "def f():\n    return 1\n"
    assert isinstance(match(normal, old), NotMatched)
    assert isinstance(match(normal, old, forgiving=True), Matched)


def test_white_space_is_not_forgiven_in_two_places():
    assert "line 1, 2" in why_not(" x = 1\n  x = 1\n", "x  = 1", forgiving=True)


def test_blank_lines_are_never_forgiven_into_a_match():
    assert isinstance(match("a\n\nb", "   ", forgiving=True), NotMatched)


@pytest.mark.parametrize(
    ("normal", "old", "new", "expected"),
    [
        (
            "class A:\n    def f(self):\n        return 1\n",
            "def f(self):\n    return  1",
            "def f(self):\n    x = 2\n    return x",
            "class A:\n    def f(self):\n        x = 2\n        return x\n",
        ),
        ("\tif a:\n\t\tb()\n", "    if a:\n        b()", "    if a:\n        c()", "\tif a:\n\t\tc()\n"),
        ("x = 1  \ny\n", "x = 1\ny\n", "x = 2\ny\n", "x = 2\ny\n"),
        ("a = 1\n  b = 2\nc\n", "b  = 2\n", "", "a = 1\nc\n"),
        (
            "    if a:\n        b()\n",
            "if a:\n  b()",
            "if a:\n  if c:\n    b()",
            "    if a:\n        if c:\n          b()\n",
        ),
    ],
)
def test_new_text_takes_the_indentation_of_the_file(normal: str, old: str, new: str, expected: str):
    assert changed(normal, old, new) == expected
