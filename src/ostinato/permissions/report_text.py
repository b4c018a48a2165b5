"""A report on one call as lines for a person. Everything that came from the model or a file is shown with its odd characters
escaped, so that no text can draw a report of its own.
"""

from collections.abc import Iterator
from pathlib import Path

from ostinato.permissions.call_report import CallReport, PartReport, PathReport, RuleReport
from ostinato.permissions.rule_matching import quoted
from ostinato.permissions.shell_command import Redirect
from ostinato.visible_text import visible_line

UNKNOWN_WORD = "…"
MAX_SHOWN_PATHS = 20
ANSWERS = {"allow": "allowed", "deny": "denied", "ask": "asked"}


def report_text(report: CallReport) -> str:
    """Lines that end in a newline: the answer first, then how it came about, part by part."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: CallReport) -> Iterator[str]:
    yield f"{ANSWERS[report.outcome]}: {visible_line(report.reason.text)}"
    yield f"  decided by {_decider(report.reason.rule, report.reason.source)}, in the mode `{report.mode}`"
    for rule in report.suggestions:
        yield f"  would be allowed by `{visible_line(rule)}`"
    if report.outcome == "ask" and not report.suggestions:
        yield "  no single rule is suggested for it: a yes holds once"
    if report.unread:
        yield "how it is read: not at all, for what it runs cannot be proven"
        yield from _rule_lines(report.parts[0].rules, "  ")
        return
    if len(report.folders) > 1:
        yield f"it may run in {', '.join(_path(folder) for folder in report.folders)}"
    for path, target in report.links[:MAX_SHOWN_PATHS]:
        yield f"it names {_path(path)}, which leads to {_path(target)}"
    is_shell = any(part.words or part.redirects or part.assignments for part in report.parts)
    if is_shell:
        yield "how it is read:" if len(report.parts) > 1 else "how it is read: one command"
    for part in report.parts:
        yield from _part_lines(part, is_shell=is_shell)


def _part_lines(part: PartReport, *, is_shell: bool) -> Iterator[str]:
    if is_shell:
        yield f"  {command_line(part)}"
        yield f"    {ANSWERS[part.outcome]}: {visible_line(part.reason.text)}"
    for words in part.runs:
        yield f"    runs {_words(words)}"
    yield from _path_lines("reads", part.reads)
    yield from _path_lines("writes", part.writes)
    if part.problem:
        yield f"    its files cannot be told: {visible_line(part.problem)}"
    elif not part.are_paths_complete:
        yield "    it is not known which of its words are files"
    yield from _rule_lines(part.rules, "    ")
    for rule in part.suggestions if is_shell else ():
        yield f"    would be allowed by `{visible_line(rule)}`"


def command_line(part: PartReport) -> str:
    """The command on one line as it was read, what is not static as `…`."""
    before = [f"{name}={UNKNOWN_WORD if value is None else _word(value)}" for name, value in part.assignments]
    after = [_redirect(redirect) for redirect in part.redirects]
    return " ".join((*before, *(_word(word) for word in part.words), *after))


def _words(words: tuple[str | None, ...]) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: str | None) -> str:
    return UNKNOWN_WORD if word is None else visible_line(quoted(word))


def _redirect(redirect: Redirect) -> str:
    return f"{redirect.operator} {_word(redirect.target)}"


def _path_lines(verb: str, paths: tuple[PathReport, ...]) -> Iterator[str]:
    for report in paths[:MAX_SHOWN_PATHS]:
        leads = [target for target in report.leads_to if target != report.path]
        notes = [
            *([] if report.leads_to else ["where it leads is not known"]),
            *(["which leads to " + ", ".join(_path(target) for target in leads[:3])] if leads else []),
            "inside the workspace" if report.is_inside else "outside the workspace",
            *([f"protected: {report.protection}"] if report.protection else []),
        ]
        yield f"    {verb} {_path(report.path)} ({'; '.join(notes)})"
    if len(paths) > MAX_SHOWN_PATHS:
        yield f"    {verb} {len(paths) - MAX_SHOWN_PATHS} more"


def _path(path: Path) -> str:
    return visible_line(str(path))


def _rule_lines(rules: tuple[RuleReport, ...], indent: str) -> Iterator[str]:
    for report in rules:
        verb = "covers" if report.is_certain else "may cover"
        yield f"{indent}{report.behaviour} rule `{visible_line(report.rule)}` of {visible_line(report.source)} {verb} it"


def _decider(rule: str, source: str) -> str:
    return f"`{visible_line(rule)}` ({visible_line(source)})" if rule else visible_line(source)
