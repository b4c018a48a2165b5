"""What settings change of a conversation: the options as they count, the rules, and a sentence for all that was left out.

Promise: a fault in a settings file is named and never stops a start; a fault in an option that the caller gave does.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ostinato.config.keys import FEATURES, MODEL, PRICES
from ostinato.config.lost_rules import lost_restrictions, managed_error, require_managed
from ostinato.config.settings import PermissionSettings, Settings
from ostinato.config.shape import is_object
from ostinato.config.source import PROJECT_LEVELS, Sourced
from ostinato.config.waiting import Waiting
from ostinato.engine.found_settings import FoundSettings
from ostinato.engine.option_checks import no_bypass
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError, UsageError
from ostinato.home_folder import expand_home
from ostinato.option_values import ThinkingWish
from ostinato.permissions.rules import Behaviour, Rule, parse_rule
from ostinato.state import DEFAULT_CONFIG, QueryConfig
from ostinato.visible_text import visible_line

MAX_NOTICES: Final = 5
"""Of faults in settings files; a file that is wrong in a hundred places is told in a few lines."""

MAX_NAMES: Final = 3
MAX_NOTICE_CHARACTERS: Final = 400

NOT_TRUSTED: Final = "this folder is not trusted"
HOW_TO_TRUST: Final = (
    f"{NOT_TRUSTED}: `ostinato trust show` lists what waits, `--trust` or `ostinato trust add` accepts it"
)

_MODEL_KEYS: Final = frozenset(key.name for fields in (MODEL, PRICES) for key in fields.keys)


class StartedIn(msgspec.Struct, frozen=True):
    """What settings are read against: the environment and the home the program was started with, and the project."""

    environment: Mapping[str, str]
    home: Path | None
    project_root: Path


class Applied(msgspec.Struct, frozen=True):
    """`rules` are those of the settings; `notices` name what was left out and why. `settings` are what all this comes from."""

    options: Options
    settings: Settings
    rules: tuple[Rule, ...]
    is_bypass_disabled: bool
    notices: tuple[str, ...]


def apply_settings(options: Options, found: FoundSettings, around: StartedIn) -> Applied:
    """What `found` changes. Raises UsageError where a flag asks for what the settings take away, and ConfigurationError where a
    rule that denies may have been lost: for the mode that asks nothing, and always where it is one of the machine's.
    """
    notices: list[str] = []
    settings = found.effective().settings
    lost_problems = tuple(lost_restrictions(found.loaded.problems))
    require_managed(lost_problems)
    rules = tuple(_rules(settings.permissions, ("deny", "ask"), notices))
    lost = (*map(str, lost_problems), *notices)
    rules += tuple(_rules(settings.permissions, ("allow",), notices))
    changed = _with_settings(options, settings, around, notices)
    if settings.web_private_hosts is not None or settings.web_search_url is not None:
        from ostinato.engine.web_settings import with_web  # ruff: ignore[import-outside-top-level] - few settings speak of the web

        changed = with_web(changed, settings, notices)
    if lost and changed.permission_mode == "bypassPermissions":
        raise ConfigurationError(
            f"the mode `bypassPermissions` needs all rules, but some may be lost: {printable(lost[0])}",
            hint="mend the file, leave it out with `--setting-sources`, or choose another mode",
        )
    faults = [f"{problem}; {problem.hint}" for problem in found.loaded.problems]
    return Applied(
        changed,
        settings,
        rules,
        settings.permissions.is_bypass_disabled or bool(lost),
        notices=(*_first((*faults, *notices)), *waiting_notices(found.waiting())),
    )


def _with_settings(options: Options, settings: Settings, around: StartedIn, notices: list[str]) -> Options:
    added = settings.append_system_prompt
    appended = (added.value if added else "", options.append_system_prompt)
    return replace(
        options,
        model=_value(settings.model, options.model) if _is_open(options.model) else options.model,
        permission_mode=_mode(options, settings.permissions, notices),
        max_turns=_value(settings.max_turns, options.max_turns),
        effort=_value(settings.effort_level, options.effort),
        thinking=_thinking(options, settings),
        fallback_models=options.fallback_models or _value(settings.fallback_model, ()),
        small_model=_value(settings.small_model, options.small_model)
        if _is_open(options.small_model)
        else options.small_model,
        append_system_prompt="\n\n".join(part for part in appended if part.strip()),
        add_dirs=(*options.add_dirs, *_folders(settings.permissions, options, around, notices)),
        pid_namespace=options.pid_namespace and _value(settings.pid_namespace, True),
        models={**_snake(settings.models), **options.models},
        environment={**around.environment, **_variables(settings, notices)},
        config=_features(options.config, settings),
    )


def _variables(settings: Settings, notices: list[str]) -> dict[str, str]:
    """Without `HOME`: with another one a shell's `~` would not be the `~` that the rules speak of."""
    home = settings.env.get("HOME")
    if home is not None:
        notices.append(
            f"`HOME` of `{home.origin}` is left out: the home folder is where the program found it"
        )
    return {name: sourced.value for name, sourced in settings.env.items() if name != "HOME"}


def _value(sourced: Sourced[Any] | None, otherwise: Any) -> Any:
    return otherwise if sourced is None else sourced.value


def _is_open(model: object) -> bool:
    """A model that the caller made is the caller's; a name is one wish among others."""
    return model is None or isinstance(model, str)


def _thinking(options: Options, settings: Settings) -> ThinkingWish | None:
    wish = settings.is_thinking_on
    return "on" if options.thinking is None and wish is not None and wish.value else options.thinking


def _mode(options: Options, permissions: PermissionSettings, notices: list[str]) -> Any:
    chosen = permissions.default_mode
    if chosen is None:
        return options.permission_mode
    if chosen.value != "bypassPermissions" or not permissions.is_bypass_disabled:
        return chosen.value
    if chosen.origin.source.level == "flags":
        raise no_bypass()
    notices.append(
        f"the mode `bypassPermissions` of `{chosen.origin}` is left out: the settings take that mode away"
    )
    return None


def _folders(
    permissions: PermissionSettings, options: Options, around: StartedIn, notices: list[str]
) -> Iterator[Path]:
    for sourced in permissions.additional_directories:
        is_projects = sourced.origin.source.level in PROJECT_LEVELS
        start = around.project_root if is_projects else Path(options.cwd)
        folder = _below(sourced.value, start, around.home)
        if folder is not None and os.path.isdir(folder) and os.access(folder, os.R_OK | os.X_OK):
            yield folder
        else:
            notices.append(
                f"the folder `{sourced.value}` of `{sourced.origin}` cannot be read; it is left out"
            )


def _below(text: str, start: Path, home: Path | None) -> Path | None:
    if "\0" in text:
        return None
    try:
        return start / expand_home(text, home)
    except UsageError:
        return None


def _snake(models: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Any]]:
    return {name: _renamed(facts) for name, facts in models.items()}


def _renamed(facts: Mapping[str, object]) -> dict[str, Any]:
    """From the names of settings (`contextWindow`) to those of the catalogue (`context_window`); others are dropped."""
    return {
        _snake_name(name): _renamed(value) if is_object(value) else value
        for name, value in facts.items()
        if name in _MODEL_KEYS
    }


def _snake_name(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def _features(config: QueryConfig, settings: Settings) -> QueryConfig:
    """A caller's own gates win as a whole."""
    if config != DEFAULT_CONFIG:
        return config
    known = {key.name for key in FEATURES.keys}
    changes: dict[str, Any] = {
        _snake_name(name): value for name, value in settings.features.items() if name in known
    }
    if settings.is_auto_compact_enabled is not None:
        changes["auto_compact"] = settings.is_auto_compact_enabled.value
    return msgspec.structs.replace(config, **changes)


# ------------------------------------------------------------------------------------------------ rules


def _rules(
    permissions: PermissionSettings, behaviours: Sequence[Behaviour], notices: list[str]
) -> Iterator[Rule]:
    listed: Mapping[Behaviour, Sequence[Sourced[str]]] = {
        "deny": permissions.deny,
        "ask": permissions.ask,
        "allow": permissions.allow,
    }
    for behaviour in behaviours:
        for sourced in listed[behaviour]:
            origin = sourced.origin
            try:
                yield parse_rule(sourced.value, behaviour, str(origin), anchor=origin.source.anchor)
            except ConfigurationError as error:
                if behaviour != "allow" and origin.source.level == "managed":
                    raise managed_error(origin.source, error.message) from error
                notices.append(f"{error.message}, so it is left out; {error.hint}")


# ------------------------------------------------------------------------------------------------ sentences


def waiting_notices(waiting: Sequence[Waiting]) -> tuple[str, ...]:
    """One sentence a kind, and one that says what to do."""
    if not waiting:
        return ()
    lines = [
        f"{NOT_TRUSTED}, left out: {part.kind} ({_names(item.key or item.file for item in part.items)})"
        for part in waiting
    ]
    return tuple(printable(line) for line in (*lines, HOW_TO_TRUST))


def _names(names: Iterable[str]) -> str:
    found = tuple(dict.fromkeys(names))
    more = f" and {len(found) - MAX_NAMES:,} more" if len(found) > MAX_NAMES else ""
    return ", ".join(f"`{name}`" for name in found[:MAX_NAMES]) + more


def _first(sentences: Sequence[str]) -> tuple[str, ...]:
    shown = tuple(printable(sentence) for sentence in sentences[:MAX_NOTICES])
    if len(sentences) <= MAX_NOTICES:
        return shown
    return (
        *shown,
        f"{len(sentences) - MAX_NOTICES:,} more faults in settings: `ostinato config show` names them",
    )


def printable(text: str) -> str:
    """`text` in one line of plain characters: a project may have written a part of it to fool a terminal."""
    cut = text if len(text) <= MAX_NOTICE_CHARACTERS else text[:MAX_NOTICE_CHARACTERS] + "…"
    return visible_line(cut)
