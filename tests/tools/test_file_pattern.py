"""Glob patterns mean what people who write them expect."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.tools.file_pattern import parse_pattern


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("./*.py", "a.py", True),
        ("./*.py", "x/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("**", "x/y", True),
        ("**/x/*", "a/b/x/c", True),
        ("**/x/*", "a/b/x/c/d", False),
        ("*/x", "a/x", True),
        ("*/x", "a/b/x", False),
        ("a?c", "abc", True),
        ("*/a?c", "x/a/c", False),
        ("[a-c].py", "b.py", True),
        ("[!a-c].py", "b.py", False),
        ("[]x].py", "].py", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("*.{ts,t{s,}x}", "a.tx", True),
        ("*.ts,*.tsx", "a.tsx", True),
        ("{*/a,**/b}/c", "x/y/b/c", True),
        ("{*/a,**/b}/c", "x/y/a/c", False),
        ("!*.md", "x/a.md", False),
        ("!*.md", "x/a.py", True),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("a+b(1).py", "a+b(1).py", True),
        ("*.py", "new\nline.py", True),
        ("*/", "a/b/c", True),
        ("**/a*b", "a/ab", True),
        ("**/a/**/a/b", "a/x/a/c/a/b", True),
        ("**/a/**/a/b", "a/b", False),
        ("*ab*bc", "abbc", True),
        ("*ab*bc", "abc", False),
        ("*{ab,a}*bc", "abc", True),
        ("*a*a", "aXa", True),
        ("*a*a", "a", False),
        ("**/**/**/a", "a", True),
        ("a/**/**", "a/b", True),
        ("**/*/**/b", "a/b", True),
        ("**/*/**/b", "b", False),
        ("x[]/,}]y", "x}y", True),
        ("x[,]y", "x,y", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool):
    assert parse_pattern(pattern).matches(path) is fits


@pytest.mark.parametrize(
    ("pattern", "folder", "name_globs"),
    [
        ("src/lib/**/*.py", "src/lib", ("*.py",)),
        ("src/a.py", "src", ("a.py",)),
        ("/etc/*.conf", "/etc", ("*.conf",)),
        ("/*.conf", "/", ("*.conf",)),
        ("../x/*.py", "../x", ("*.py",)),
        ("{a,b}/*.py", "", ("*.py",)),
        ("{a/*.py,b/*.ts}", "", ()),
        ("src/**", "src", ()),
        ("!*.md", "", ()),
        ("include:x", "", ("include*x",)),
        ("*.{ts,t{s,}x}", "", ("*.ts", "*.tsx", "*.tx")),
        ("a?[bc].py{,i}", "", ("a*.py", "a*.pyi")),
    ],
)
def test_where_to_search_and_for_which_names(pattern: str, folder: str, name_globs: tuple[str, ...]):
    parsed = parse_pattern(pattern)
    assert (parsed.folder, parsed.name_globs) == (folder, name_globs)


@pytest.mark.parametrize("pattern", ["[", "{a", "a}", "[z-a]", "x/[!"])
def test_what_is_no_pattern_is_refused(pattern: str):
    with pytest.raises(ValueError, match="`"):
        parse_pattern(pattern)


@settings(deadline=None)
@given(st.text(st.sampled_from("a*?[]{},/!\\^-.")), st.text(st.sampled_from("a/.b"), max_size=8))
def test_every_pattern_has_an_answer_or_is_refused(pattern: str, path: str):
    try:
        parsed = parse_pattern(pattern)
    except ValueError:
        return
    assert parsed.matches(path) in {True, False}


HOSTILE = [
    ("*a" * 30 + "b", "a" * 255),
    ("*[a-b]" * 30 + "c", "ab" * 120),
    ("**/*a*" + "/**" * 20 + "/x", "/".join(["aa"] * 1000)),
    ("**/" * 40 + "x", "a/" * 1500 + "y"),
    ("**/a/" * 20 + "x", "a/" * 1500 + "y"),
    ("**/*a*a*/" * 12 + "*b", "aaaa/" * 700 + "a"),
    ("{*a,*b}" * 7 + "c", "ab" * 120),
    ("*" * 5000, "a" * 255),
    ("?" * 200 + "*" * 50 + "x", "a" * 255),
]


@pytest.mark.parametrize(("pattern", "path"), HOSTILE)
def test_no_pattern_takes_long_on_any_path(pattern: str, path: str):
    """While one pattern is tried, nothing else of the whole process runs."""
    begun = time.process_time()
    assert not parse_pattern(pattern).matches(path) or set(pattern) == {"*"}
    assert time.process_time() - begun < 0.5


def test_braces_that_stand_for_thousands_are_refused():
    with pytest.raises(ValueError, match="256"):
        parse_pattern("{a,b}" * 20)


NAMES = st.lists(
    st.sampled_from(["**", "*", "a", "?b", "[ab]*", "*a*b", "*a*b*", "{a,*b}*a", "{*a,b}?"]), max_size=5
)
PATHS = st.lists(st.text(alphabet="ab", min_size=1, max_size=5), max_size=6)


@settings(deadline=None, max_examples=60)
@given(NAMES, PATHS)
def test_a_pattern_matches_what_its_plain_reading_matches(names: list[str], parts: list[str]):
    """The plain reading goes back as far as it must, and so would take for ever with the patterns above."""
    pattern, path = "/".join(["*", *names, "*b"]), "/".join(["a", *parts, "ab"])
    assert parse_pattern(pattern).matches(path) is plainly(pattern, path)


def plainly(pattern: str, path: str) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "{":
        choices, rest = pattern[1:].split("}", 1)
        return any(plainly(choice + rest, path) for choice in choices.split(","))
    if pattern.startswith("**/"):
        places = [place + 1 for place, character in enumerate(path) if character == "/" and place]
        return any(plainly(pattern[3:], path[place:]) for place in (0, *places))
    if pattern[0] == "*":
        ends = range((path + "/").index("/") + 1)
        return any(plainly(pattern.lstrip("*"), path[end:]) for end in ends)
    if pattern[0] == "[":
        return path[:1] in {"a", "b"} and plainly(pattern[4:], path[1:])
    is_same = path[:1] not in {"", "/"} if pattern[0] == "?" else path[:1] == pattern[0]
    return is_same and plainly(pattern[1:], path[1:])
