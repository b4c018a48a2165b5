"""The entry of the command. `--version` answers at once; everything else is done, and whatever goes wrong is said in two
lines and an exit code.
"""

import gc
import sys

from ostinato.version import VERSION

_OBJECTS_BETWEEN_LOOKS = 100_000
"""Starting makes about 70,000 objects, nearly all to stay: Python's usual 700 had it look for garbage a hundred times, a
tenth of the whole start."""

_VERSION_FLAGS = (["--version"], ["-v"])


def run() -> int:
    """The `ostinato` command; returns its exit code."""
    if sys.argv[1:] in _VERSION_FLAGS:
        return _version()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)
    try:
        # `--version` must not wait for the rest of the program.
        from ostinato.cli.last_threads import leave_running  # ruff: ignore[import-outside-top-level] - see above
        from ostinato.cli.program import run_program  # ruff: ignore[import-outside-top-level] - see above

        code = run_program(sys.argv[1:])
        leave_running(code)
        return code
    except KeyboardInterrupt:
        return 130


def _version() -> int:
    if sys.stdout is None:
        return 0
    try:
        sys.stdout.write(f"{VERSION} (ostinato)\n")
        sys.stdout.flush()
    except OSError:  # nobody reads, and the interpreter must not try again at its end
        sys.stdout = None
    return 0
