"""`ostinato doctor`: looks at everything that a conversation needs, and says of each thing whether it is well and what to do."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import click
from msgspec.structs import asdict

from ostinato.cli.doctor.check import Check
from ostinato.cli.doctor.kept_checks import data_checks, session_checks, settings_checks
from ostinato.cli.doctor.machine import (
    process_id_checks,
    program_checks,
    sandbox_checks,
    terminal_checks,
    tool_checks,
)
from ostinato.cli.doctor.reach_checks import helper_key, key_checks, model_checks, proxy_checks
from ostinato.cli.exit_codes import DONE, FAILED
from ostinato.cli.flag_values import check_model
from ostinato.cli.signals import Interruption, with_signals
from ostinato.cli.standard_streams import say
from ostinato.engine.apart_commands import runs_apart
from ostinato.engine.configuration import Configuration, InEffect, in_effect, read_configuration
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
from ostinato.errors import OstinatoError
from ostinato.home_folder import NO_HOME, home_of
from ostinato.journal.places import data_root
from ostinato.secret_values import secret_values, without_secrets
from ostinato.visible_text import visible

MARKS: Final[Mapping[str, str]] = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--model", metavar="NAME", help="Look at the way to this model.")
@click.option("--json", "is_json", is_flag=True, help="The lines as one JSON object.")
def doctor(*, model: str | None, is_json: bool) -> int:
    """Look at everything that a conversation needs. No key is sent; exit code 1 if something does not work."""
    if model is not None:
        check_model("--model", model, (data_root(os.environ) or NO_HOME) / "models", home_of(os.environ))
    return anyio.run(with_signals, partial(_report, model, dict(os.environ), is_json=is_json))


async def _report(
    model: str | None, environment: Mapping[str, str], interruption: Interruption, *, is_json: bool
) -> int:
    del interruption  # nothing to attach: a signal cancels what still looks
    checks = await _look(model, environment)
    say(report_json(checks) if is_json else report_text(checks))
    return FAILED if any(check.status == "fail" for check in checks) else DONE


async def _look(model: str | None, environment: Mapping[str, str]) -> list[Check]:
    options = Options(model=model, setting_sources=ALL_SETTING_SOURCES, environment=environment)
    configuration, effect = _configured(options)
    options = effect.options
    root = data_root(environment)
    counting = options.environment or environment
    helper = None
    if isinstance(configuration, Configuration):
        helper = helper_key(options, effect, configuration, counting)
    reaching = counting if helper is None else helper.standing_in(counting)
    name = options.model if isinstance(options.model, str) else None
    checks = [
        *program_checks(),
        *await tool_checks(environment),
        *terminal_checks(environment),
        *process_id_checks(is_wanted=runs_apart(options)),
        *await sandbox_checks(environment),
        *key_checks(counting, helper),
        *proxy_checks(counting),
        *await model_checks(name, reaching, (root or NO_HOME) / "models"),
        *data_checks(root),
        *session_checks(root),
        *settings_checks(configuration),
    ]
    known = secret_values(counting)
    return [_shown(check, known) for check in checks]


def _configured(options: Options) -> tuple[Configuration | OstinatoError, InEffect]:
    """The settings and what they make of the options; broken ones are a finding, not the end."""
    try:
        configuration = read_configuration(options)
        return configuration, in_effect(options, configuration)
    except OstinatoError as error:
        return error, InEffect(options)


def _shown(check: Check, known: tuple[str, ...]) -> Check:
    """Safe to show to others: no secret, no character that a terminal would not show."""
    text, hint = (visible(without_secrets(part, known)) for part in (check.text, check.hint))
    return Check(check.name, check.status, text, hint)


def report_text(checks: Sequence[Check]) -> str:
    width = max(len(check.name) for check in checks)
    lines: list[str] = []
    for check in checks:
        lines.append(f"{MARKS[check.status]}  {check.name:<{width}}  {check.text}\n")
        if check.hint and check.status != "ok":
            lines.append(f"{'':<{width + 8}}hint: {check.hint}\n")
    failed = sum(check.status == "fail" for check in checks)
    warned = sum(check.status == "warn" for check in checks)
    return "".join((*lines, f"\n{len(checks)} looked at, {warned} to know of, {failed} that do not work\n"))


def report_json(checks: Sequence[Check]) -> str:
    """One object: `checks`, each with name, status, text and hint, and `is_well`."""
    is_well = all(check.status != "fail" for check in checks)
    return json.dumps({"is_well": is_well, "checks": [asdict(check) for check in checks]}, indent=2) + "\n"
