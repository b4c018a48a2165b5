"""What comes from a caller's own code has the kind it is said to have, or is refused by name before anything is opened.

A number for a uuid would be written, and the session could never be read again.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from msgspec.structs import replace

from ostinato.engine.options import Options
from ostinato.errors import UsageError
from ostinato.tool import Tool

MAX_SHOWN_CHARACTERS: Final = 200

Fits = Callable[[object], bool]


def usable_options(options: Options) -> Options:
    """The same with paths for folders that were given as texts. Raises UsageError for a value of another kind."""
    for value, default, name in zip(_values_of(options), _DEFAULT_VALUES, _KINDS, strict=True):
        if value is default:  # it fits
            continue
        fits, wanted = _KINDS[name]
        if not fits(value):
            raise UsageError(f"`{name}` is {shown(value)}", hint=f"it takes {wanted}")
    if isinstance(options.cwd, Path) and not options.add_dirs:
        return options
    return replace(
        options, cwd=Path(options.cwd), add_dirs=tuple(Path(folder) for folder in options.add_dirs)
    )


def check_uuid(uuid: object) -> None:
    """Raises UsageError for what can name no message."""
    if uuid is not None and not (is_text(uuid) and uuid.strip()):
        raise UsageError(
            f"`uuid` is {shown(uuid)}", hint="it takes a text that is not empty, or None for a new one"
        )


def check_model_name(name: object) -> None:
    """Raises UsageError for what can name no model."""
    if not is_text(name) or not name.strip():
        raise UsageError(
            f"`model` is {shown(name)}",
            hint="it takes the name of a model, such as `sonnet`, or `provider/model`",
        )


def shown(value: object) -> str:
    """The value in a few words; one that cannot even be shown is named by its kind."""
    return _within(repr, value)


def shown_text(error: Exception, mask: Callable[[str], str]) -> str:
    """What an error of somebody else's code says, without what nobody may read."""
    return _within(lambda _error: mask(str(error)), error)


def _within(said: Callable[[object], str], value: object) -> str:
    try:
        text = said(value)
    except Exception:  # ruff: ignore[blind-except] - somebody else's `__repr__`
        return f"a {type(value).__name__}"
    from ostinato.secret_values import masked  # ruff: ignore[import-outside-top-level] - only what is wrong is shown

    text = masked(text, ())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _is_name_or_model(value: object) -> bool:
    if is_text(value):
        return bool(value.strip())
    return value is None or (callable(getattr(value, "stream", None)) and hasattr(value, "facts"))


def _is_folder(value: object) -> bool:
    return isinstance(value, str | Path) and "\0" not in str(value) and bool(str(value))


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _all(fits: Fits) -> Fits:
    return lambda value: _is_sequence(value) and all(fits(item) for item in value)


def _or_none(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _is_environment(value: object) -> bool:
    return _is_mapping(value) and all(is_text(name) and is_text(text) for name, text in value.items())


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_tool(value: object) -> bool:
    return isinstance(value, Tool)


_A_TEXT: Final = (is_text, "a text")
_TEXT_OR_NONE: Final = (_or_none(is_text), "a text, or None")
_TEXTS: Final = (_all(is_text), "a list of texts")
_SWITCH: Final = (_is_switch, "True or False")
_FUNCTION: Final = (_or_none(callable), "a function, or None")
_MAPPING: Final = (_is_mapping, "a dict")

_KINDS: Final[Mapping[str, tuple[Fits, str]]] = {
    "cwd": (_is_folder, "a folder: a `Path` or a text"),
    "model": (_is_name_or_model, "the name of a model, a model of your own, or None"),
    "tools": (_or_none(_all(_is_tool)), "a list of tools (`build_tool` makes one), or None"),
    "extra_tools": (_all(_is_tool), "a list of tools (`build_tool` makes one)"),
    "system_prompt": _TEXT_OR_NONE,
    "append_system_prompt": _A_TEXT,
    "can_use_tool": _FUNCTION,
    "permission_mode": _TEXT_OR_NONE,
    "allowed_tools": _TEXTS,
    "disallowed_tools": _TEXTS,
    "add_dirs": (_all(_is_folder), "a list of folders: `Path`s or texts"),
    "setting_sources": _TEXTS,
    "trust": _SWITCH,
    "resume": _TEXT_OR_NONE,
    "continue_session": _SWITCH,
    "session_id": _TEXT_OR_NONE,
    "keep_session": _SWITCH,
    "shell_lines": _SWITCH,
    "instructions": _SWITCH,
    "fallback_models": _TEXTS,
    "refresh_api_key": _FUNCTION,
    "ask_user": _FUNCTION,
    "small_model": (_is_name_or_model, "the name of a model, a model of your own, or None"),
    "web_private_hosts": _TEXTS,
    "web_search": (
        lambda value: value is None or is_text(value) or callable(value),
        'an address with `{query}` in it, "provider", a function, or None',
    ),
    "web_search_headers": (_is_environment, "a dict from texts to texts"),
    "background_on_timeout": _SWITCH,
    "pid_namespace": _SWITCH,
    "model_overrides": _MAPPING,
    "models": (_is_mapping, "a dict from names to dicts"),
    "on_notice": (callable, "a function that takes a sentence"),
    "on_shell_output": (callable, "a function that takes a command and what it printed"),
    "environment": (_or_none(_is_environment), "a dict from texts to texts, or None for this process's own"),
}

_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType(
    dict(zip(Options.__struct_fields__, Options.__struct_defaults__, strict=True))
)
_DEFAULT_VALUES: Final = tuple(_DEFAULTS[name] for name in _KINDS)
_values_of: Final[Callable[[Options], tuple[object, ...]]] = attrgetter(*_KINDS)
"""All of them in one step: a process of thousands checks as many options, and most are left as they are."""
