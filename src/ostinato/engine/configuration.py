"""The settings and the trust of a conversation, read once, and what they change of its options.

Promise: where no settings file lies anywhere, nothing of `config` but its places is loaded.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.config.places import LOCAL_FILE, Places, is_anything_there, project_root_of
from ostinato.engine.gate import RuleKeeper
from ostinato.engine.option_types import shown
from ostinato.engine.options import ALL_SETTING_SOURCES, Options, SettingsRead
from ostinato.engine.web_access import SEARCH_VARIABLE
from ostinato.errors import ConfigurationError, UsageError
from ostinato.home_folder import expand_home, home_of
from ostinato.journal.places import data_root
from ostinato.permissions.rules import Rule, parse_rule
from ostinato.real_path import real_path

if TYPE_CHECKING:
    from ostinato.config.source import Sourced
    from ostinato.config.waiting import Waiting
    from ostinato.engine.found_settings import FoundSettings

MODEL_VARIABLES: Final = ("OSTINATO_MODEL", "ANTHROPIC_MODEL")
MAX_DIGITS: Final = 18
MAX_TURNS_VARIABLE: Final = "OSTINATO_MAX_TURNS"
SMALL_MODEL_VARIABLE: Final = "OSTINATO_SMALL_MODEL"
NAMED_BY_VARIABLES: Final = (("smallModel", SMALL_MODEL_VARIABLE), ("web.search.url", SEARCH_VARIABLE))


class Configuration(SettingsRead, frozen=True):
    """What was read. `found` None: there is no settings file and nothing to trust. `home` and the folders of `places` come from
    the environment the program was started with, never from settings. `cwd` is the resolved folder that was asked about.
    """

    places: Places
    home: Path | None
    chosen: frozenset[str]
    found: "FoundSettings | None" = None
    cwd: Path | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether what the project supplies may act: a record says so for exactly this content, or somebody accepted it now."""
        return self.found is not None and self.found.is_trusted

    def waiting(self) -> "tuple[Waiting, ...]":
        """What the project wants to do and may not yet; empty when there is nothing to ask."""
        return () if self.found is None else self.found.waiting()

    def accepted(self) -> "Configuration":
        """The same, with a yes to exactly what was read. Raises ConfigurationError if a part of it could not be read."""
        return self if self.found is None else replace(self, found=self.found.accepted())


class InEffect(msgspec.Struct, frozen=True):
    """`options` as they count. `rules` are the caller's own, then those of the settings. `key_helper`: the command that prints the
    key, with its file. `kept_days`: how long sessions are kept, None for ever. `instruction_excludes`: patterns of instruction files that are not
    loaded. `notices` are for the user.
    """

    options: Options
    rules: tuple[Rule, ...] = ()
    keeper: RuleKeeper | None = None
    is_bypass_disabled: bool = False
    notices: tuple[str, ...] = ()
    key_helper: "Sourced[str] | None" = None
    kept_days: int | None = None
    instruction_excludes: tuple[str, ...] = ()


def read_configuration(options: Options) -> Configuration:
    """Look for settings and for what the project supplies. Nothing acts yet.

    Raises UsageError for a setting source that there is not, and ConfigurationError for `options.settings` that cannot be
    used, variables that make no sense, and `options.trust` where something cannot be read.
    """
    configuration = _bare(options)
    return _filled(options, configuration) if _is_anything_there(options, configuration) else configuration


def given_configuration(options: Options) -> Configuration | None:
    """What was read before. Raises UsageError for what `read_configuration` did not make."""
    given = options.configuration
    if given is None or isinstance(given, Configuration):
        return given
    raise UsageError(f"`configuration` is {shown(given)}", hint="it takes what `read_configuration` returned")


async def find_configuration(options: Options) -> Configuration:
    """`read_configuration` on an event loop: what takes time, reading files and the project's things, happens in a thread."""
    configuration = _bare(options)
    if not _is_anything_there(options, configuration):
        return configuration
    return await to_thread.run_sync(_filled, options, configuration)


def _bare(options: Options) -> Configuration:
    environment = started_with(options)
    home = home_of(environment)
    other = None if home is None else home / ".claude"
    cwd = real_path(expand_home(str(options.cwd), home))
    places = Places(project_root_of(str(cwd), home), data_root(environment), other)
    return Configuration(places, home, _chosen(options), cwd=cwd)


def _is_anything_there(options: Options, configuration: Configuration) -> bool:
    return options.settings is not None or is_anything_there(configuration.places, configuration.chosen)


def _filled(options: Options, configuration: Configuration) -> Configuration:
    from ostinato.engine.found_settings import find_settings  # ruff: ignore[import-outside-top-level] - most runs find nothing

    found = find_settings(
        options,
        configuration.places,
        configuration.chosen,
        given_variables(started_with(options)),
    )
    configuration = replace(configuration, found=found)
    return configuration.accepted() if options.trust else configuration


def in_effect(options: Options, configuration: Configuration) -> InEffect:
    """Apply what was read. Raises ConfigurationError for a rule of the caller's that cannot be read, and UsageError where an option
    asks for what the settings take away.
    """
    own_rules, keeper = _own_rules(options), _keeper(configuration)
    if configuration.found is None:
        return InEffect(_with_variables(options), own_rules, keeper, notices=_doubts(options, own_rules))
    from ostinato.engine.settings_effect import StartedIn, apply_settings  # ruff: ignore[import-outside-top-level] - as above

    around = StartedIn(started_with(options), configuration.home, configuration.places.project_root)
    done = apply_settings(options, configuration.found, around)
    rules = (*own_rules, *done.rules)
    notices = (*done.notices, *_doubts(options, rules))
    settings = done.settings
    kept = settings.cleanup_period_days
    return InEffect(
        done.options,
        rules,
        keeper,
        done.is_bypass_disabled,
        notices,
        settings.api_key_helper,
        None if kept is None else kept.value,
        tuple(pattern.value for pattern in settings.instruction_excludes),
    )


def _doubts(options: Options, rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Which rules can match nothing."""
    if not rules:
        return ()
    from ostinato.permissions.rule_doubts import doubts  # ruff: ignore[import-outside-top-level] - as above

    names = [tool.name for tool in (*(options.tools or ()), *options.extra_tools)]
    found = doubts(rules, names)
    if not found:
        return ()
    from ostinato.engine.settings_effect import printable  # ruff: ignore[import-outside-top-level] - as above

    return tuple(map(printable, found))


def started_with(options: Options) -> Mapping[str, str]:
    return os.environ if options.environment is None else options.environment


def given_variables(environment: Mapping[str, str]) -> dict[str, tuple[str, str | int]]:
    """Settings that variables give: the key to the variable's name and its value. Raises ConfigurationError."""
    found: dict[str, tuple[str, str | int]] = {}
    for name in MODEL_VARIABLES:
        value = environment.get(name, "").strip()
        if value:
            found.setdefault("model", (name, value))
    for key, name in NAMED_BY_VARIABLES:
        value = environment.get(name, "").strip()
        if value:
            found[key] = (name, value)
    turns = environment.get(MAX_TURNS_VARIABLE, "").strip()
    if turns:
        if not (turns.isascii() and turns.isdecimal() and len(turns) <= MAX_DIGITS and int(turns) >= 1):
            raise ConfigurationError(
                f"`{MAX_TURNS_VARIABLE}` is {shown(turns)}", hint="it takes a whole number from 1"
            )
        found["maxTurns"] = (MAX_TURNS_VARIABLE, int(turns))
    return found


def _own_rules(options: Options) -> tuple[Rule, ...]:
    allowed = [parse_rule(text, "allow", "allowed tools") for text in options.allowed_tools]
    denied = [parse_rule(text, "deny", "disallowed tools") for text in options.disallowed_tools]
    return (*allowed, *denied)


def _with_variables(options: Options) -> Options:
    given = given_variables(started_with(options))
    model, turns = given.get("model"), given.get("maxTurns")
    if options.model is None and model is not None:
        options = replace(options, model=str(model[1]))
    if options.max_turns is None and turns is not None:
        options = replace(options, max_turns=int(turns[1]))
    return options


def _chosen(options: Options) -> frozenset[str]:
    names = options.setting_sources
    wrong = [names] if isinstance(names, str) else [name for name in names if name not in ALL_SETTING_SOURCES]
    if wrong:
        raise UsageError(
            f"there is no setting source `{wrong[0]}`",
            hint="`setting_sources` takes a list of `user`, `project`, `local`",
        )
    return frozenset(names)


def _keeper(configuration: Configuration) -> RuleKeeper | None:
    """Answers are kept where they would be read again, and act: not in a folder whose settings nobody trusts."""
    if "local" not in configuration.chosen:
        return None
    found, places = configuration.found, configuration.places
    inert: Mapping[str, str | None] | None = {} if found is None else None
    if found is not None and not found.is_trusted:
        if found.waiting():
            return None
        inert = found.things.digests

    def save(rules: Sequence[str]) -> str:
        from ostinato.config.keep_answers import keep_answers  # ruff: ignore[import-outside-top-level] - only an answer needs it

        return keep_answers(places, rules, inert)

    return RuleKeeper(places.project_root / LOCAL_FILE, save)
