"""Every async test runs on asyncio and on trio unless it says otherwise."""

import signal

import pytest
from hypothesis import settings

# A loaded machine makes no test fail: how long things take is what benchmarks/ is for.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_sessionstart() -> None:
    """Commands under test hear the signals they are sent, also where the run itself was started in the background, deaf to them."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            is_interrupt = number is signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
