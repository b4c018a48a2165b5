"""Whether the commands of a conversation get process ids of their own (docs/processes.md): what the caller, the settings and the environment want."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ostinato.engine.configuration import started_with
from ostinato.engine.options import Options
from ostinato.processes import BackgroundFacts
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.process_status import lacking_right

VARIABLE: Final = "OSTINATO_PID_NAMESPACE"
OFF: Final = frozenset({"0", "false", "no", "off"})


def runs_apart(options: Options) -> bool:
    """Wanted, that is; whether the system allows it shows at the first command."""
    return options.pid_namespace and started_with(options).get(VARIABLE, "").strip().lower() not in OFF


def may_run_apart(options: Options) -> bool:
    """Whether it is wanted and nothing that can be seen without trying speaks against it."""
    return runs_apart(options) and not lacking_right()


def processes_of(
    options: Options,
    environment: Mapping[str, str],
    spill_dir: Path | None,
    on_end: Callable[[BackgroundFacts], None],
) -> BackgroundProcesses:
    """What a conversation's commands run in, none of them started yet."""
    return BackgroundProcesses(environment, spill_dir, on_end, is_apart=runs_apart(options))
