"""One command of a user or a project: a Markdown file whose text becomes the prompt."""

from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from ostinato.engine.slash.shown_text import shown_line
from ostinato.errors import ConfigurationError
from ostinato.front_matter import Value, read_front_matter, split_list, text_of
from ostinato.permissions.rules import Rule, parse_rule

Scope: TypeAlias = Literal["project", "user"]

MAX_DESCRIPTION_CHARACTERS: Final = 1_536
"""What is shown of a description (protocols reference §6.4: the listing text of a skill)."""

MAX_RULES: Final = 200


class CommandFile(msgspec.Struct, frozen=True):
    """`name` is what is typed behind the slash: folders below the commands folder, then the file's name, with colons.

    `digest` is the SHA-256 of the file's bytes: what trust is bound to. `thing` is its name below the project root,
    for project files. `rules` are those of `allowed-tools`.
    """

    name: str
    scope: Scope
    path: Path
    body: str
    digest: str
    thing: str = ""
    description: str = ""
    argument_hint: str = ""
    rules: tuple[Rule, ...] = ()
    model: str | None = None

    @property
    def qualified_name(self) -> str:
        """Always leads to this file or one that wins over it in the same scope, whatever else has the plain name."""
        return f"{self.scope}:{self.name}"


class CommandProblem(msgspec.Struct, frozen=True):
    """Something about a file or folder that a person should know; `is_skipped`: there is no such command."""

    path: Path
    reason: str
    is_skipped: bool = True


class ParsedCommand(msgspec.Struct, frozen=True):
    command: CommandFile | None
    problems: tuple[CommandProblem, ...] = ()


def parse_command(
    text: str, *, name: str, scope: Scope, path: Path, digest: str, thing: str = ""
) -> ParsedCommand:
    """The command in the text of a file, `\\n` at line ends. What is wrong with it comes back as a problem."""
    front = read_front_matter(text)
    body = front.body.strip()
    if front.problem or not body:
        reason = front.problem or "it has no text below its front matter"
        return ParsedCommand(None, (CommandProblem(path, reason),))
    rules, problems = _rules(front.values.get("allowed-tools", ""), name, path)
    model = text_of(front.values.get("model", ""))
    command = CommandFile(
        name=name,
        scope=scope,
        path=path,
        body=body,
        digest=digest,
        thing=thing,
        description=_description(front.values.get("description", ""), body),
        argument_hint=shown_line(_hint(front.values.get("argument-hint", "")), 100),
        rules=rules,
        model=None if model in {"", "inherit"} else model,
    )
    return ParsedCommand(command, problems)


def _rules(value: Value, name: str, path: Path) -> tuple[tuple[Rule, ...], tuple[CommandProblem, ...]]:
    """A rule that cannot be read gives no right, and is named."""
    parts = (value,) if isinstance(value, str) else value
    texts = [text for part in parts for text in split_list(part, separators=", \t\n") if text.strip()]
    rules, problems = list[Rule](), list[CommandProblem]()
    for text in texts[:MAX_RULES]:
        try:
            rules.append(parse_rule(text, "allow", f"the command /{name}"))
        except ConfigurationError as error:
            reason = f"{error.message}; it gives no right" + (f" ({error.hint})" if error.hint else "")
            problems.append(CommandProblem(path, shown_line(reason, 500), is_skipped=False))
    if len(texts) > MAX_RULES:
        problems.append(
            CommandProblem(path, f"only its first {MAX_RULES} allowed tools count", is_skipped=False)
        )
    return tuple(rules), tuple(problems)


def _description(value: Value, body: str) -> str:
    """The front matter's, or else the first line of the text."""
    return shown_line(text_of(value) or body.split("\n", 1)[0].lstrip("# "), MAX_DESCRIPTION_CHARACTERS)


def _hint(value: Value) -> str:
    """`[file] [line]` and `[file]` are meant as they stand, though the latter reads as a list."""
    return value if isinstance(value, str) else f"[{', '.join(value)}]"
