"""Glob patterns mean what people who write them expect."""

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
    ],
)
def test_patterns(pattern: str, path: str, fits: bool):
    assert parse_pattern(pattern).matches(path) is fits


@pytest.mark.parametrize(
    ("pattern", "folder", "name_glob"),
    [
        ("src/lib/**/*.py", "src/lib", "*.py"),
        ("src/a.py", "src", "a.py"),
        ("/etc/*.conf", "/etc", "*.conf"),
        ("/*.conf", "/", "*.conf"),
        ("../x/*.py", "../x", "*.py"),
        ("{a,b}/*.py", "", "*.py"),
        ("{a/*.py,b/*.ts}", "", None),
        ("src/**", "src", None),
        ("!*.md", "", None),
        ("include:x", "", None),
    ],
)
def test_where_to_search_and_for_which_names(pattern: str, folder: str, name_glob: str | None):
    parsed = parse_pattern(pattern)
    assert (parsed.folder, parsed.name_glob) == (folder, name_glob)


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
