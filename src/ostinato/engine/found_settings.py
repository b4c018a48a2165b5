"""The settings that a conversation found, with what the project supplies and whether it is trusted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.config.load import ALL, Effective, Loaded, effective, given, load_settings
from ostinato.config.merge import Document
from ostinato.config.places import Places
from ostinato.config.project_things import Things, scan_project
from ostinato.config.source import PROJECT_LEVELS
from ostinato.config.trust import Trusted, TrustState, trust_state
from ostinato.config.waiting import Waiting, waiting
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError


class FoundSettings(msgspec.Struct, frozen=True):
    """`loaded`: the chosen files, and the values of flags and variables. `things`: all that the project supplies; empty
    where neither `project` nor `local` was chosen. `state` is what the record says, or the yes of a person in this run.
    """

    loaded: Loaded
    things: Things
    state: TrustState

    @property
    def is_trusted(self) -> bool:
        return isinstance(self.state, Trusted)

    def effective(self) -> Effective:
        """The settings as they count."""
        return effective(self.loaded, is_trusted=self.is_trusted)

    def waiting(self) -> tuple[Waiting, ...]:
        """What the project wants to do and may not yet."""
        return () if self.is_trusted else waiting(self.effective().withheld, self.things)

    def accepted(self) -> "FoundSettings":
        """Raises ConfigurationError if a part of it could not be read: nobody can say yes to that."""
        for name, digest in self.things.digests.items():
            if digest is None:
                raise ConfigurationError(
                    f"{name!a} of the project cannot be trusted: it cannot be read, or is too much to look at",
                    hint="make it readable, or remove it",
                )
        return replace(self, state=Trusted(self.things))


def find_settings(
    options: Options,
    places: Places,
    chosen: frozenset[str],
    variables: Mapping[str, tuple[str, str | int]],
) -> FoundSettings:
    """Read all chosen files. `variables`: the key to the name and the value of a variable that was set.

    Raises ConfigurationError for `options.settings` that cannot be used.
    """
    looks_at_project = bool(chosen & PROJECT_LEVELS)
    loaded = load_settings(
        places,
        # What the project supplies is looked at whole, so that one choice of files is as trusted as another.
        chosen=ALL if looks_at_project else frozenset(level for level in ALL if level in chosen),
        settings_flag=_settings_text(options.settings),
        given=_given(options, variables),
    )
    things = (
        scan_project(places, loaded.documents, loaded.project_digests) if looks_at_project else Things({})
    )
    left_out = ALL - chosen
    counting = replace(
        loaded,
        documents=tuple(document for document in loaded.documents if document.source.level not in left_out),
        problems=tuple(problem for problem in loaded.problems if problem.source.level not in left_out),
    )
    return FoundSettings(counting, things, trust_state(places.data_root, places.project_root, things))


def _settings_text(settings: str | Path | Mapping[str, Any] | None) -> str | None:
    if not isinstance(settings, Mapping):
        return None if settings is None else str(settings)
    try:
        return msgspec.json.encode(settings).decode()
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise ConfigurationError(
            f"`settings` cannot be written as JSON: {error}", hint="use texts, numbers, lists and dicts"
        ) from error


def _given(options: Options, variables: Mapping[str, tuple[str, str | int]]) -> tuple[Document, ...]:
    flags = {
        "model": options.model if isinstance(options.model, str) else None,
        "permissions.defaultMode": options.permission_mode,
        "maxTurns": options.max_turns,
        "effortLevel": options.effort,
        "smallModel": options.small_model if isinstance(options.small_model, str) else None,
        "web.privateHosts": tuple(options.web_private_hosts) or None,
        "web.search.url": options.web_search if isinstance(options.web_search, str) else None,
    }
    said = [given("flags", key, value, name="flags") for key, value in flags.items() if value is not None]
    told = [given("environment", key, value, name=name) for key, (name, value) in variables.items()]
    return (*said, *told)
