"""All figures, one after another: `python -m benchmarks [--full]`. Quick by default: enough to see what broke, not to quote."""

import os
import sys
from collections.abc import Sequence

from benchmarks import (
    context,
    files,
    fleet,
    overlap,
    parallel,
    processes,
    repository,
    startup,
    streaming,
    turns,
)


def main(arguments: Sequence[str]) -> None:
    for name, part in (
        ("start-up", startup),
        ("repository", repository),
        ("streaming", streaming),
        ("turns", turns),
        ("overlap", overlap),
        ("parallel", parallel),
        ("fleet", fleet),
        ("context", context),
        ("files", files),
        ("processes", processes),
    ):
        print(f"{name} (load {os.getloadavg()[0]:.1f})", flush=True)
        part.main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
