"""`ostinato models`: what `--model` can name here, and which of it would work now."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import click
import msgspec
from msgspec.structs import asdict

from ostinato.cli.doctor.check import variable
from ostinato.cli.exit_codes import DONE
from ostinato.cli.signals import Interruption, with_signals
from ostinato.cli.standard_streams import say
from ostinato.home_folder import NO_HOME
from ostinato.journal.places import data_root
from ostinato.ports import ModelFacts
from ostinato.providers.address import shown_url
from ostinato.providers.catalogue import ALIASES, AS_OF, MODELS
from ostinato.providers.connect import KEY_VARIABLES
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.local_models import LOCAL_MODELS, model_path
from ostinato.providers.reach import Unreached, served_models
from ostinato.visible_text import visible

LIST_TIMEOUT_S: Final = 5.0


class Listed(msgspec.Struct, frozen=True):
    """A model that `--model` can name. Windows in tokens, prices in US dollars per million tokens; None: not known.

    `is_ready`: a key is set, or the file is here; whether the server would answer is another matter.
    """

    name: str
    provider: str
    aliases: tuple[str, ...]
    is_ready: bool
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    file_bytes: int | None = None


class Server(msgspec.Struct, frozen=True):
    """A server that a base URL names; `problem` says why its list of models could not be had."""

    provider: str
    url: str
    models: tuple[str, ...] = ()
    problem: str = ""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "is_json", is_flag=True, help="The lists as one JSON object.")
def models(*, is_json: bool) -> int:
    """What `--model` can name: known models, downloaded ones, and those of servers that a base URL names."""
    environment = dict(os.environ)
    root = data_root(environment)
    listed = (*known_models(environment), *local_models((root or NO_HOME) / "models"))
    report = report_json if is_json else report_text
    return anyio.run(with_signals, partial(_report, environment, listed, report))


async def _report(
    environment: Mapping[str, str],
    listed: Sequence[Listed],
    report: Callable[[Sequence[Listed], Sequence[Server]], str],
    interruption: Interruption,
) -> int:
    del interruption  # nothing to attach: a signal cancels the asking
    say(report(listed, await ask_servers(environment)))
    return DONE


def known_models(environment: Mapping[str, str]) -> tuple[Listed, ...]:
    return tuple(_listed(facts, is_ready=_has_key(facts.provider, environment)) for facts in MODELS)


def _listed(facts: ModelFacts, *, is_ready: bool) -> Listed:
    name = f"{facts.provider}/{facts.id}"
    prices = facts.prices
    return Listed(
        name,
        facts.provider,
        tuple(alias for alias, full in ALIASES.items() if full == name),
        is_ready,
        facts.context_window,
        facts.max_output_tokens,
        None if prices is None else prices.input,
        None if prices is None else prices.output,
    )


def _has_key(provider: str, environment: Mapping[str, str]) -> bool:
    return any(variable(environment, key) for key in KEY_VARIABLES.get(provider, ()))


def local_models(folder: Path) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            "local" if "local" in model.aliases else f"local/{model.name}",
            "local",
            (f"local/{model.name}",) if "local" in model.aliases else (),
            os.path.isfile(model_path(model, folder)),
            input_price=0.0,
            output_price=0.0,
            file_bytes=model.file_bytes,
        )
        for model in LOCAL_MODELS
    )


async def ask_servers(environment: Mapping[str, str]) -> tuple[Server, ...]:
    """The servers of base URLs that are set, asked together; each gets the key that a conversation would send it."""
    given = [(provider, variable(environment, f"{provider.upper()}_BASE_URL")) for provider in KEY_VARIABLES]
    found: dict[str, Server] = {}

    async def ask(provider: str, url: str) -> None:
        answer = await served_models(
            url, HttpSettings(environment), _headers(provider, environment), timeout_s=LIST_TIMEOUT_S
        )
        if isinstance(answer, Unreached):
            found[provider] = Server(provider, shown_url(url), problem=answer.what)
        else:
            found[provider] = Server(provider, shown_url(url), answer)

    async with anyio.create_task_group() as tasks:
        for provider, url in given:
            if url:
                tasks.start_soon(ask, provider, url)
    return tuple(found[provider] for provider, _ in given if provider in found)


def _headers(provider: str, environment: Mapping[str, str]) -> dict[str, str]:
    if provider == "openai":
        key = variable(environment, "OPENAI_API_KEY")
        return {"authorization": f"Bearer {key}"} if key else {}
    key, token = variable(environment, "ANTHROPIC_API_KEY"), variable(environment, "ANTHROPIC_AUTH_TOKEN")
    headers = {"anthropic-version": "2023-06-01"}
    if key:
        headers["x-api-key"] = key
    if token:
        headers["authorization"] = f"Bearer {token}"
    return headers


# ------------------------------------------------------------------------------------------------ shown


def report_text(listed: Sequence[Listed], servers: Sequence[Server]) -> str:
    width = max(len(model.name) for model in listed)
    lines = [f"{'model':<{width}}  {'':<5}  {'window':>9}  {'output':>7}  {'$ in':>6}  {'$ out':>6}\n"]
    lines += [_line(model, width) for model in listed]
    lines.append(f"\nready: a key is set, or the file is here. Prices per million tokens, as of {AS_OF}.\n")
    for server in servers:
        lines.append(f"\n{server.provider} server {visible(server.url)}")
        lines.append(f": {visible(server.problem)}\n" if server.problem else f" has {_count(server)}\n")
        lines += [f"  {server.provider}/{visible(name)}\n" for name in server.models]
    return "".join(lines)


def _count(server: Server) -> str:
    return "1 model" if len(server.models) == 1 else f"{len(server.models)} models"


def _line(model: Listed, width: int) -> str:
    columns = (
        f"{model.name:<{width}}",
        "ready" if model.is_ready else "     ",
        f"{_number(model.context_window):>9}",
        f"{_number(model.max_output_tokens):>7}",
        f"{_price(model.input_price):>6}",
        f"{_price(model.output_price):>6}",
        ", ".join(model.aliases) or ("" if model.file_bytes is None else f"{model.file_bytes / 1e6:,.0f} MB"),
    )
    return "  ".join(columns).rstrip() + "\n"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _price(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def report_json(listed: Sequence[Listed], servers: Sequence[Server]) -> str:
    """One object: `models` and `servers`, in the names of `Listed` and `Server`, and `prices_as_of`."""
    answer = {
        "models": [asdict(model) for model in listed],
        "servers": [asdict(server) for server in servers],
        "prices_as_of": AS_OF,
    }
    return json.dumps(answer, indent=2) + "\n"
