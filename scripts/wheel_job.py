"""Runs one job with an installed command: a scripted server answers, the command must read, write and say it is done."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ostinato.testing import Reply, StrictServer, call, say


def main(command: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        work.mkdir()
        (work / "a.txt").write_text("one\n")
        script = (
            Reply(say("I look."), call("Read", "t1", file_path="a.txt")),
            Reply(call("Edit", "t2", file_path="a.txt", old_string="one", new_string="two")),
            Reply(say("done")),
        )
        with StrictServer(*script) as server:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "x",
            }
            ended = subprocess.run(
                [
                    command,
                    "-p",
                    "change one to two",
                    "--permission-mode",
                    "acceptEdits",
                    "--model",
                    "claude-sonnet-4-5",
                ],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        changed = (work / "a.txt").read_text()
    ok = (ended.returncode, ended.stdout.strip(), ended.stderr, changed) == (0, "done", "", "two\n")
    print(f"exit {ended.returncode}, said {ended.stdout.strip()!r}, the file holds {changed!r}", ended.stderr)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
