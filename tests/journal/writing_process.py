"""A process of its own that writes a session and says on stdout what was acknowledged; its parent kills it."""

import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from ostinato.errors import JournalError
from ostinato.journal.opening import create_session, reopen_session
from ostinato.messages import ToolResult, tool_result_message


def now() -> datetime:
    return datetime.now(UTC)


def main(path: Path, max_file_bytes: int) -> None:
    if max_file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    if path.exists():
        writer = reopen_session(path, now=now).writer
    else:
        writer = create_session(path, session_id=path.stem, cwd="/", now=now)
    number = writer._seq  # uuids that go on where the last process stopped
    while True:
        number += 1
        size = 200_000 if number % 53 == 0 else 40_000 if number % 19 == 0 else 200
        try:
            writer.write(tool_result_message(f"u{number}", ToolResult(f"t{number}", "x" * size)))
        except JournalError:
            print("refused", flush=True)
            return
        print(f"u{number}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
