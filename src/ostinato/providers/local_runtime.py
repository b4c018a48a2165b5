"""The inference runtime in this process: imported at first use, one loaded model per file, shared by everyone who asks.

The runtime brings a server of its own along; it is locked away (a socket nobody can reach, a key nobody knows), because
the conversation must not be readable by other programs of this machine.
"""

import importlib
import importlib.util
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ostinato.errors import LocalModelError

RUNTIME = "xllamacpp"
INSTALL_HINT = "install it with `pip install 'ostinato[local]'`"

PREFILL_BATCH_TOKENS = 128
"""Tokens of a prompt that are read in one go; an abort is heard between two. Three seconds with a 1.5B model on two cores."""


class Generator(Protocol):
    """A loaded model. The call blocks; each chunk of the reply is one JSON text; a callback that returns True ends it."""

    def handle_chat_completions(self, request: str, on_chunk: Callable[[str], bool], /) -> object: ...


LoadModel = Callable[[Path, int], Generator]
"""Load a model file with a context window of so many tokens; blocks for seconds."""


class LoadedModels:
    """The models of one process, each loaded once. `close` forgets them; a call that still runs ends first."""

    def __init__(self, load: LoadModel) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: dict[tuple[Path, int], Generator] = {}

    def get(self, path: Path, context_tokens: int) -> Generator:
        """The model of that file, loaded now if it is not yet. Blocks; call it from a worker thread.

        Raises `LocalModelError` when the file is missing or the runtime cannot load it.
        """
        key = (path.resolve(), context_tokens)
        with self._lock:
            if key not in self._loaded:
                check_file(path)
                self._loaded[key] = self._load(*key)
            return self._loaded[key]

    def close(self) -> None:
        """Give the memory back, without waiting: what is being loaded right now goes with whoever wanted it."""
        if self._lock.acquire(blocking=False):
            self._loaded.clear()
            self._lock.release()


def check_file(path: Path) -> None:
    """Raise `LocalModelError` unless a readable GGUF file stands there."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise LocalModelError(
            f"no local model at `{path}`: {error.strerror or error}",
            hint="get one with `ostinato local pull`, or name a GGUF file as `--model local/PATH.gguf`",
        ) from error
    if magic != b"GGUF":
        raise LocalModelError(
            f"`{path}` is not a GGUF file", hint="local models are single files in GGUF format"
        )


def load_with_xllamacpp(path: Path, context_tokens: int) -> Generator:
    """Load with the optional runtime. Raises `LocalModelError` when it is not installed or refuses the file."""
    runtime = import_runtime()
    folder = tempfile.mkdtemp(prefix="ostinato-local-")
    parameters = _parameters(runtime, path, context_tokens)
    _lock_away(parameters, folder)
    try:
        return runtime.Server(parameters)
    except RuntimeError as error:
        raise LocalModelError(
            f"the runtime cannot load `{path}`: {error}", hint="the file may be damaged: pull it again"
        ) from error
    finally:
        # Without its name the socket cannot be connected to any more.
        shutil.rmtree(folder, ignore_errors=True)


def _parameters(runtime: Any, path: Path, context_tokens: int) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context_tokens
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = PREFILL_BATCH_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _usable_cpus()
    parameters.cache_ram_mib = 0  # else up to 8 GB of old prompts
    parameters.warmup = False
    parameters.verbosity = -1
    return parameters


def _lock_away(parameters: Any, folder: str) -> None:
    parameters.hostnames = [f"{folder}/socket.sock"]
    parameters.api_keys = [secrets.token_hex(16)]
    parameters.n_threads_http = 1
    parameters.ui = False
    parameters.endpoint_slots = False


def import_runtime() -> Any:
    """The runtime's module, loaded so that it shares the machine. Raises `LocalModelError` when it is not installed."""
    # Spinning threads starve one another on busy machines: two orders of magnitude slower. Read at import only.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        return importlib.import_module(RUNTIME)
    except ImportError as error:
        raise LocalModelError(
            f"the runtime for local models cannot be imported: {error}",
            hint=INSTALL_HINT,
        ) from error


def check_runtime() -> None:
    """Raise `LocalModelError` unless the runtime is installed; does not load it."""
    if importlib.util.find_spec(RUNTIME) is None:
        raise LocalModelError("the runtime for local models is not installed", hint=INSTALL_HINT)


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
