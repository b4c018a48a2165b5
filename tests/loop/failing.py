"""Model calls that fail: the errors as the classifiers make them, and a query that is as patient as by default."""

from collections.abc import Sequence

from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import Event, SystemEvent
from ostinato.messages import SystemMessage
from ostinato.state import QueryConfig
from ostinato.testing import FakeClock, ScriptedModel, Turn

PATIENT = QueryConfig(normalise_strictly=True)

OVERLOADED = ModelError("too busy", kind="overloaded", status=529, retry=True, recover="fallback_model")
GONE = ModelError("no such model", kind="not_found", status=404, recover="fallback_model")
WRONG_KEY = ModelError("wrong key", kind="authentication", status=401, recover="refresh_auth")


def limited(wish_s: float) -> ModelError:
    """A rate limit that names how long to wait."""
    return ModelError("slow down", kind="rate_limit", status=429, retry=True, retry_after_s=wish_s)


def patient_scene(*turns: Turn, **more: object) -> Scene:
    """The model is asked again as often as by default, and no wait takes any time."""
    made = Scene(ScriptedModel(*turns), config=PATIENT, clock=FakeClock(auto_advance=True))
    return replace(made, **more)


def notices(events: Sequence[Event], subtype: str) -> list[SystemMessage]:
    found = [event.message for event in events if isinstance(event, SystemEvent)]
    return [message for message in found if message.subtype == subtype]
