"""`paths:` of rules: what is read of the front matter, which files the patterns mean, and that no pattern takes long."""

import time

import pytest

from ostinato.attachments.path_rules import PathPatterns
from ostinato.attachments.rule_paths import read_rule


@pytest.mark.parametrize(
    ("block", "paths"),
    [
        ("paths: src/**/*.ts", ["src/**/*.ts"]),
        ("paths: src/**/*.{ts,tsx}, lib/*.ts", ["src/**/*.{ts,tsx}", "lib/*.ts"]),
        ('paths: ["a/*.py", b.py]  # two', ["a/*.py", "b.py"]),
        (
            "paths:\n  - 'a b.md'\n  - \"*.py\" # why\n\n  # comment\n  - {x,y}/z\nother: 1",
            ["a b.md", "*.py", "{x,y}/z"],
        ),
        ("paths:\n- a\n- b", ["a", "b"]),
        ("\tname: x: y\npaths:\n\t- a", ["a"]),
        ("description: paths: no", []),
        ("paths: '**'", []),
        ("paths: []", []),
        ("paths:", []),
        ("paths: |\n  a\n  {b,c}/d", ["a", "{b,c}/d"]),
        ("paths: [src/*.{ts,tsx}, 'a, b']", ["src/*.{ts,tsx}", "a, b"]),
        ('paths: "a", b', ["a", "b"]),
        ("paths: [ab]*.py", ["[ab]*.py"]),
        ("Paths: a\nmodel: x", ["a"]),
    ],
)
def test_the_patterns_of_a_rule(block: str, paths: list[str]):
    front = read_rule(f"---\n{block}\n---\nbody\n")
    assert (list(front.paths), front.body, front.problem) == (paths, "body\n", "")


@pytest.mark.parametrize("block", ["paths: [a", "paths: [a, b", "paths:\n  a: b", "paths:\n  - a: b"])
def test_patterns_that_cannot_be_read_are_said_and_the_body_stays(block: str):
    front = read_rule(f"---\n{block}\n---\nbody")
    assert (front.paths, front.body) == ((), "body")
    assert front.problem


@pytest.mark.parametrize(
    "text", ["", "--\npaths: a\n--\n", "---\npaths: a\nnever closed", "x\n---\npaths: a\n---"]
)
def test_text_without_a_closed_block_at_its_beginning_is_all_body(text: str):
    assert read_rule(text).body == text
    assert read_rule(text).paths == ()


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.md", ["a.md"], ["docs/a.md", "a.mdx"]),
        ("**/*.ts", ["a.ts", "x/y/a.ts"], ["a.tsx"]),
        ("src/**", ["src/a", "src/a/b"], ["srcs/a", "a/src/b"]),
        ("src/**/test/*.py", ["src/test/a.py", "src/a/b/test/a.py"], ["src/test/a/b.py"]),
        ("src/*/a.py", ["src/x/a.py"], ["src/a.py", "src/x/y/a.py"]),
        ("src/{api,web}/*.{ts,tsx}", ["src/api/a.ts", "src/web/b.tsx"], ["src/cli/a.ts"]),
        ("{a,b{c,d}}.x", ["a.x", "bc.x", "bd.x"], ["b.x"]),
        ("f?.[ch]", ["f1.c", "f2.h"], ["f.c", "f1.x", "f/.c"]),
        ("src/api", ["src/api", "src/api/x.py"], ["src/apix"]),
        ("./src/", ["src/a"], ["lib/a"]),
        ("a{b", ["a{b"], ["ab"]),
        ("[", ["["], ["a"]),
    ],
)
def test_which_files_a_pattern_means(pattern: str, matching: list[str], other: list[str]):
    patterns = PathPatterns([pattern])
    assert [path for path in matching if not patterns.matches(path)] == []
    assert [path for path in other if patterns.matches(path)] == []


@pytest.mark.parametrize(
    "pattern", ["**/a/" * 40 + "b", "*a" * 300 + "b", "{a,b}" * 150, "{" * 400, "[" * 900, "x" * 100_000]
)
def test_no_pattern_takes_long(pattern: str):
    started = time.process_time()
    patterns = PathPatterns([pattern])
    assert not patterns.matches("a/" * 60 + "a" * 200)
    assert time.process_time() - started < 0.5
