"""The very end: everything is written, told and put back by then, so native code that cannot be interrupted is not waited for."""

import contextlib
import logging
import os
import sys
import threading


def leave_running(code: int) -> None:
    """Return for the interpreter's own end, unless that would wait for a local model in the middle of a prompt: then the process
    ends here. Such a thread is no daemon: cutting it off while the interpreter is taken down could crash it.
    """
    main = threading.main_thread()
    names = {thread.name for thread in threading.enumerate() if thread is not main and not thread.daemon}
    if not names:
        return
    from ostinato.providers.local_bridge import INFERENCE_THREAD  # ruff: ignore[import-outside-top-level] - no other end needs it

    if INFERENCE_THREAD not in names:
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or nobody reads
            stream.flush()
    os._exit(code)
