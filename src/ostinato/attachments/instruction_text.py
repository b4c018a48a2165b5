"""Instruction files as the model reads them: the same files give the same bytes, with no time and no count in them."""

from ostinato.attachments.instruction_files import InstructionFile, LoadedInstructions
from ostinato.attachments.quoted_text import quoted, shown_name

HEADING = """\
Instructions for this work, from files of the user and of the project. Follow them where they apply; if two disagree, \
the later is the more specific one, and what the user says in the conversation comes before both."""

ACCOUNTS = {
    "managed": "set for this machine",
    "user": "the user's own, for all projects",
    "project": "of the project",
}


def instructions_context(loaded: LoadedInstructions) -> str:
    """The part of the user context that holds instructions; empty if there are none. Rules with `paths` wait."""
    parts = [instruction_part(file) for file in loaded.files if not file.paths]
    return "\n\n".join([HEADING, *parts]) if parts else ""


def instruction_part(file: InstructionFile) -> str:
    """One file under a line that says which it is and on whose account it counts."""
    account = ACCOUNTS[file.origin]
    if file.kind == "local":
        account = "the user's own, for this project"
    if file.imported_from is not None:
        account = f"imported by {shown_name(file.imported_from)}"
    return f"Contents of {shown_name(file.path)} ({account}):\n\n{quoted(file.text)}"
