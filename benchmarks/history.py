"""What a history and a session file cost: appending at 1,000 and 10,000 messages, folding, writing, reading back.

Run `python -m benchmarks.history`. The ratio of the first table is the claim: about 1 if appending is O(1).
"""

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.conversations import long_conversation, plain_conversation

from ostinato.history import History
from ostinato.journal.opening import create_session
from ostinato.journal.read import read_session
from ostinato.messages import Text, assistant_fragment, user_prompt
from ostinato.records import Record, Retract, Undo

BATCH = 200
ROUNDS = 15


def best_us(action: Callable[[], object], count: int) -> float:
    """CPU microseconds of one of `count` operations, the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time_ns()
        action()
        best = min(best, (time.process_time_ns() - started) / 1_000 / count)
    return best


def append_us(messages: int, batch: list[Record]) -> float:
    """One append to a history of this length. Each round goes on from the newest, as a run does."""
    history = [History.empty().extend(plain_conversation(messages))]

    def grow() -> None:
        history[0] = history[0].extend(batch)

    return best_us(grow, len(batch))


def print_history() -> None:
    batch = plain_conversation(BATCH)
    small, large = append_us(1_000, batch), append_us(10_000, batch)
    print(
        f"append, us of CPU           at 1,000: {small:6.2f}   at 10,000: {large:6.2f}   ratio {large / small:.2f}"
    )
    history = History.empty().extend(plain_conversation(10_000))
    retract = Retract("e", ("m0",))
    undo = history.append(retract)
    print(f"one edit, us                at 10,000: {best_us(lambda: history.append(retract), 1):8.0f}")
    print(f"one undo (refold), us       at 10,000: {best_us(lambda: undo.append(Undo('u', 'e')), 1):8.0f}")
    print(f"view(), us                  at 10,000: {best_us(history.view, 1):8.0f}")
    mixed = long_conversation(10_000, 500, seed=7)
    print(
        f"fold, ms                    10,000 messages, 500 edits: {best_us(lambda: History.fold(mixed), 1) / 1000:.0f}"
    )


def print_session_file() -> None:
    message = assistant_fragment("u", "r", "m", Text("a reply of some length " * 20))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        writer = create_session(path, session_id="s", cwd="/project", now=lambda: datetime.now(UTC))

        def write() -> None:
            for _ in range(500):
                writer.write(message)

        print(f"write a record, us of CPU   {best_us(write, 500):.1f}")
        for number in range(2_500):
            writer.write(user_prompt(f"p{number}", "a prompt of some length " * 20))
        writer.close()
        size = path.stat().st_size / 1e6
        print(
            f"read back, ms               10,000 records, {size:.1f} MB: {best_us(lambda: read_session(path), 1) / 1000:.0f}"
        )


if __name__ == "__main__":
    print_history()
    print_session_file()
