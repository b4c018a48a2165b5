"""A request that is refused as it stands can often be sent again at once, changed or with another key. Each way is taken only so
often for one model and turn, or one question beside it; none costs a wait.
"""

from typing import Literal

from ostinato.errors import ModelError
from ostinato.loop.retry_policy import MAX_CHANGED_REQUESTS, shortened
from ostinato.ports import ModelRequest

NewKey = Literal["new_key"]
"""The same request, once another key is there."""


class ChangedRequests:
    """What was tried of it."""

    def __init__(self) -> None:
        self._changes = 0
        self._has_shortened = False
        self._has_asked_for_key = False

    def after(
        self, error: ModelError, request: ModelRequest, *, knows_key: bool
    ) -> ModelRequest | NewKey | None:
        """What to send at once after `error`, which `request` met; None where that would not help, or was tried. `knows_key`:
        somebody can be asked for another key of this very model.
        """
        match error.recover:
            case "send_changed" if self._changes < MAX_CHANGED_REQUESTS:
                self._changes += 1
                return request
            case "shrink_output" if not self._has_shortened:
                self._has_shortened = True
                return shortened(request, error)
            case "refresh_auth" if knows_key and not self._has_asked_for_key:
                self._has_asked_for_key = True
                return "new_key"
            case _:
                return None
