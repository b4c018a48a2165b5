"""The front matter of a Markdown file: whatever one value looks like, every other is read."""

import pytest

from ostinato.front_matter import read_front_matter, split_list


def values(block: str) -> dict[str, object]:
    front = read_front_matter(f"---\n{block}\n---\nthe text\n")
    assert front.body == "the text\n"
    assert not front.problem
    return dict(front.values)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Fix: now", "Fix: now"),
        ('"quoted: #1"', "quoted: #1"),
        ('"quoted" # why', "quoted"),
        ("'a' 'b'", "'a' 'b'"),
        ("'it''s'", "it's"),
        (r'"a \"b\" \\ c"', r'a "b" \ c'),
        ("issue #12", "issue #12"),
        ("text # a comment", "text"),
        ("`code` @x {y} %z & *a !b", "`code` @x {y} %z & *a !b"),
        ("|\n  one\n  two", "one\ntwo"),
        (">-\n  one\n  two", "one two"),
        ("one\n  goes on", "one goes on"),
        ("[a, b]", ("a", "b")),
        ("['a, b', c]", ("a, b", "c")),
        ("[]", ()),
        ("[a, ,b]", ("a", "b")),
        ("  spaced  ", "spaced"),
        ("#no", "#no"),
        ("\n- a\n- b: c", ("a", "b: c")),
        ("\n\t- a\n\t- 'b'", ("a", "b")),
        ('"unclosed', '"unclosed'),
        ("", ""),
        ("中文: ✓", "中文: ✓"),
    ],
)
def test_a_value_is_read_as_its_author_meant_it_and_the_next_key_too(written: str, read: object):
    assert values(f"description: {written}\nmodel: haiku") == {"description": read, "model": "haiku"}


def test_unknown_keys_tabs_blank_lines_and_nested_values_harm_nothing():
    block = "hooks:\n  Stop:\n    - x: 1\n\n\tstray\nmodel:\thaiku\nModel : no\nDESCRIPTION: d"
    assert values(block)["model"] == "no"
    assert values(block)["description"] == "d"


def test_a_text_without_front_matter_is_all_body():
    for text in ("no fence", "---\n\nA rule above, none below", "", "-- -\nx: 1\n---"):
        assert read_front_matter(text).body == text
        assert not read_front_matter(text).problem


@pytest.mark.parametrize(
    "below",
    ["allowed-tools: Bash\nthe text", "foo\n", "foo", "- a list", "# a note\nmodel: haiku", "\nmodel: haiku\n", "", "\n\n"],
)  # fmt: skip
def test_front_matter_that_never_ends_is_a_problem(below: str):
    front = read_front_matter(f"---\n{below}")
    assert front.problem
    assert front.values == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Bash(git add:*), Bash(git commit:*)", ["Bash(git add:*)", "Bash(git commit:*)"]),
        ("Read Edit", ["Read", "Edit"]),
        ("'a, b', \"c d\",e", ["'a, b'", '"c d"', "e"]),
        ("it's a", ["it's", "a"]),
        ("a)b,c", ["a)b", "c"]),
        ("Bash(a, b (c) d) Read", ["Bash(a, b (c) d)", "Read"]),
        ("Bash(open", ["Bash(open"]),
        ("a.{ts,tsx}, b}, c", ["a.{ts,tsx}", "b}", "c"]),
    ],
)
def test_a_list_of_tools_is_cut_outside_parentheses(text: str, parts: list[str]):
    assert [part for part in split_list(text, separators=", ") if part] == parts
