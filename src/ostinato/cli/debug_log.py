"""The log of `--debug`: what the library says of itself, secrets masked, to standard error or a file, never to standard output."""

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TextIO

from ostinato.cli.debug_request import DebugRequest
from ostinato.config.shape import is_object
from ostinato.engine.configuration import Configuration
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home, home_of
from ostinato.secret_values import secret_values, usable_secrets, without_secrets
from ostinato.visible_text import visible

CONTENT_LOGGER: Final = "ostinato.http.content"
"""Where what is said in requests and replies is logged; silent unless it was asked for."""

LOGGED: Final = ("ostinato", "httpx2")


class MaskingFormatter(logging.Formatter):
    """Masks the finished line, traces included, so that no way of logging goes around it."""

    def __init__(self, known: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._known = known

    def know(self, more: Iterable[str]) -> None:
        self._known = usable_secrets((*self._known, *more))

    def format(self, record: logging.LogRecord) -> str:
        return visible(without_secrets(super().format(record), self._known))


def start_log(request: DebugRequest, environment: Mapping[str, str]) -> None:
    """Log as asked for. Raises UsageError for a file that cannot be written."""
    handler = (
        logging.StreamHandler(_opened(request.file, home_of(environment)))
        if request.file
        else logging.StreamHandler(sys.stderr)
    )
    handler.setFormatter(MaskingFormatter(secret_values(environment)))
    for name in LOGGED:
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
    logging.getLogger(CONTENT_LOGGER).setLevel(logging.DEBUG if request.has_content else logging.CRITICAL)
    logging.raiseExceptions = False  # a log that cannot be written must not write to standard error about it


def mask_settings(configuration: Configuration) -> None:
    """Mask what the settings' `env` holds as well, of every file that was read, whether it counts or not."""
    found = configuration.found
    if found is None:
        return
    environments = (document.data.get("env") for document in found.loaded.documents)
    secrets = [
        secret for given in environments if is_object(given) for secret in secret_values(_texts(given))
    ]
    for handler in logging.getLogger(LOGGED[0]).handlers:
        if isinstance(handler.formatter, MaskingFormatter):
            handler.formatter.know(secrets)


def _texts(given: Mapping[str, object]) -> dict[str, str]:
    return {name: value for name, value in given.items() if isinstance(value, str)}


def _opened(name: str, home: Path | None) -> TextIO:
    """The file, made for this user alone and added to. Raises UsageError."""
    path = expand_home(name, home)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"the log `{name}` cannot be written: {error.strerror}", hint="name another file"
        ) from error
    if os.path.sameopenfile(descriptor, 1):
        os.close(descriptor)
        raise UsageError(
            "the log cannot go to standard output", hint="leave the file out: it goes to standard error"
        )
    return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")
