"""From the flags of the command line to the options of a conversation, with every conflict named."""

import uuid
from pathlib import Path

from ostinato.cli.flags import Flags
from ostinato.cli.prompt_input import legal_text
from ostinato.engine.options import ALL_SETTING_SOURCES, Options, SettingSource
from ostinato.errors import ConfigurationError, UsageError
from ostinato.permissions.rules import Behaviour, parse_rule


def options_from(flags: Flags) -> Options:
    """Raises UsageError for flags that contradict one another, and when the working folder is gone."""
    _check(flags)
    return Options(
        cwd=_working_folder(flags),
        model=flags.model,
        settings=flags.settings,
        setting_sources=chosen_sources(flags.setting_sources),
        trust=flags.trust,
        system_prompt=None if flags.system_prompt is None else legal_text(flags.system_prompt),
        append_system_prompt=legal_text(flags.append_system_prompt),
        max_turns=flags.max_turns,
        max_budget_usd=flags.max_budget_usd,
        max_total_tokens=flags.max_total_tokens,
        timeout_s=flags.timeout_s,
        effort=flags.effort,
        thinking=flags.thinking,
        fallback_models=split_names(flags.fallback_models),
        permission_mode=flags.permission_mode,
        allowed_tools=split_rules(flags.allowed_tools),
        disallowed_tools=split_rules(flags.disallowed_tools, "deny"),
        add_dirs=flags.add_dirs,
        resume=flags.resume,
        continue_session=flags.continue_session,
        session_id=flags.session_id,
        keep_session=flags.keep_session,
    )


def chosen_sources(text: str | None) -> tuple[SettingSource, ...]:
    """The levels that `--setting-sources` names: all without the flag, none for an empty one. Raises UsageError."""
    if text is None:
        return ALL_SETTING_SOURCES
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in ALL_SETTING_SOURCES]
    if unknown:
        raise UsageError(
            f"`--setting-sources` knows no `{unknown[0]}`",
            hint="write any of `user,project,local`, with commas in between",
        )
    return tuple(source for source in ALL_SETTING_SOURCES if source in names)


def split_names(values: tuple[str, ...]) -> tuple[str, ...]:
    """Names out of flag values, separated by commas."""
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(name for name in names if name)


def split_rules(values: tuple[str, ...], behaviour: Behaviour = "allow") -> tuple[str, ...]:
    """Rules out of flag values: separated by commas or white space, but not inside parentheses. Raises UsageError."""
    rules: list[str] = []
    for value in values:
        depth, current = 0, ""
        for character in value:
            depth += (character == "(") - (character == ")" and depth > 0)
            if depth == 0 and (character == "," or character.isspace()):
                rules.append(current)
                current = ""
            else:
                current += character
        rules.append(current)
    return tuple(_checked_rule(rule, behaviour) for rule in rules if rule)


def _checked_rule(rule: str, behaviour: Behaviour) -> str:
    """A rule on the command line that cannot be read, or can match nothing, is a wrong call, not a wrong setting."""
    try:
        parsed = parse_rule(rule, behaviour, "the command line")
    except ConfigurationError as error:
        raise UsageError(error.message, hint=error.hint) from error
    from ostinato.permissions.rule_doubts import doubt_of  # ruff: ignore[import-outside-top-level] - most calls bring no rules

    doubt, _, hint = doubt_of(parsed).partition(": ")
    if doubt:
        raise UsageError(f"the {behaviour} rule `{rule}` matches nothing: {doubt}", hint=hint)
    return rule


def _check(flags: Flags) -> None:
    if flags.include_partial_messages and flags.output_format != "stream-json":
        raise UsageError(
            "`--include-partial-messages` needs a stream", hint="add `--output-format stream-json`"
        )
    if flags.continue_session and flags.resume is not None:
        raise UsageError(
            "`--continue` and `--resume` are two ways to choose a session", hint="use one of them"
        )
    resumes = flags.continue_session or flags.resume is not None
    if resumes and flags.session_id is not None:
        raise UsageError(
            "`--session-id` names a new session, but one is to be resumed", hint="leave one of the two out"
        )
    if flags.session_id is not None and not _is_uuid(flags.session_id):
        raise UsageError(f"`{flags.session_id}` is not a session id", hint="`--session-id` takes a UUID")


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _working_folder(flags: Flags) -> Path:
    try:
        return flags.cwd or Path.cwd()
    except OSError as error:
        raise UsageError("the working folder is gone", hint="change to a folder that exists") from error
