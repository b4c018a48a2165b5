"""What `/memory` shows: every instruction file with where it comes from, and everything that was left out and why."""

from ostinato.attachments.instruction_files import InstructionFile, LoadedInstructions
from ostinato.attachments.quoted_text import shown_name


def instructions_report(loaded: LoadedInstructions) -> str:
    """Plain text, one line a file or problem, in the order of loading; paths are safe to print."""
    lines = [f"{len(loaded.files)} instruction files"] if loaded.files else ["no instruction files"]
    lines += [f"  {_account(file)}" for file in loaded.files]
    if loaded.problems:
        lines.append("left out or worth a look")
        lines += [
            f"  {problem.kind:12}  {shown_name(problem.path)}: {shown_name(problem.reason)}"
            for problem in loaded.problems
        ]
    return "\n".join(lines)


def _account(file: InstructionFile) -> str:
    notes = [f"{len(file.text)} characters"]
    if file.imported_from is not None:
        notes.append(f"imported by {shown_name(file.imported_from)}")
    if file.paths:
        notes.append(f"only for {shown_name(', '.join(file.paths))}")
    return f"{file.origin:8} {file.kind:12}  {shown_name(file.path)} ({'; '.join(notes)})"
