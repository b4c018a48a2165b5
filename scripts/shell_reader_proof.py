"""The shell reader at length: how many random texts it reads, how fast, and whether shfmt and bash agree.

python -m scripts.shell_reader_proof                  100,000 fuzzed texts, 2,000 of each kind to judge
python -m scripts.shell_reader_proof --corpus FILE    writes texts with their readings, both judges agreeing
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from tests.permissions.shell_texts import REAL, damaged, grown, noise
from tests.permissions.test_shell_oracles import as_json, bash_misses, shfmt_difference

from ostinato.permissions.shell_command import Proven
from ostinato.permissions.shell_reader import read_command

KINDS = {"grown": grown, "damaged": damaged, "noise": noise}


def fuzz(count: int) -> None:
    chooser = random.Random(17)
    seconds: list[float] = []
    proven = 0
    for index in range(count):
        text = list(KINDS.values())[index % 3](chooser)
        start = time.thread_time()
        proven += isinstance(read_command(text), Proven)
        seconds.append(time.thread_time() - start)
    seconds.sort()
    print(f"{count:,} fuzzed texts: {proven:,} proven, the rest refused, nothing raised")
    middle, late = seconds[count // 2], seconds[int(count * 0.999)]
    print(f"CPU ms: median {middle * 1e3:.2f}, 99.9 % {late * 1e3:.2f}, slowest {seconds[-1] * 1e3:.2f}")


def judge(count: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, kind in KINDS.items():
            chooser = random.Random(f"judge {name}")
            texts = [kind(chooser) for _ in range(count)]
            by_shfmt = [(text, found) for text in texts if (found := shfmt_difference(text))]
            by_bash = [(text, found) for text in texts if (found := bash_misses(text, Path(folder)))]
            proven = sum(isinstance(read_command(text), Proven) for text in texts)
            print(
                f"{name}: {proven:,} of {count:,} proven; differing {len(by_shfmt)} (shfmt), {len(by_bash)} (bash)"
            )
            for text, found in (*by_shfmt, *by_bash):
                print(f"  {text!r}: {found}")


def corpus(file: Path) -> None:
    chooser = random.Random(19)
    texts = [*REAL, *(kind(chooser) for kind in (grown, damaged, damaged) for _ in range(120))]
    texts = [text for text in texts if len(text) <= 400]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kept = [text for text in texts if not (shfmt_difference(text) or bash_misses(text, Path(folder)))]
    lines = [json.dumps([text, as_json(text)], ensure_ascii=True) for text in dict.fromkeys(kept)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} texts in {file}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fuzzed", type=int, default=100_000)
    parser.add_argument("--judged", type=int, default=2_000)
    parser.add_argument("--corpus", type=Path)
    given = parser.parse_args()
    if given.corpus is not None:
        corpus(given.corpus)
        return
    fuzz(given.fuzzed)
    judge(given.judged)


if __name__ == "__main__":
    main()
