"""A few letters find the path that was meant."""

import time

from ostinato.cli.path_matching import MAX_MATCHES, matching, with_folders


def test_folders_of_files_are_paths_too():
    assert set(with_folders(["a/b/c.txt", "a/d.txt", "e"])) == {"a/", "a/b/", "a/b/c.txt", "a/d.txt", "e"}


def test_beginnings_come_before_what_holds_it_and_that_before_its_letters():
    paths = ["x/other_engine.py", "e/n/g.py", "src/engine.py", "engine/", "unrelated"]
    assert matching(paths, "ENG") == ["engine/", "src/engine.py", "x/other_engine.py", "e/n/g.py"]


def test_nothing_typed_offers_what_is_nearest():
    assert matching(["a/b/c", "a/b", "d"], "") == ["d", "a/b", "a/b/c"]


def test_marks_of_patterns_are_letters():
    assert matching(["a.b", "axb", "a+[b"], "a+[b") == ["a+[b"]


def test_a_hundred_thousand_paths_are_quick():
    paths = [f"folder{number % 100}/module_{number}.py" for number in range(100_000)]
    started_s = time.process_time()
    assert len(matching(paths, "mod99")) == MAX_MATCHES
    assert time.process_time() - started_s < 2.0  # it takes about 0.1 s


def test_names_made_to_be_slow_are_quick():
    hostile = ["a" * 250 + str(number) for number in range(1_000)]
    started_s = time.process_time()
    assert matching(hostile, "a" * 100 + "b") == []
    assert time.process_time() - started_s < 1.0  # as a pattern it would take longer than anybody lives
