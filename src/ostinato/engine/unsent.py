"""What a text that had no query of its own ends with: what became of it, and no numbers, which are counted once."""

from typing import Final, assert_never

from msgspec.structs import replace

from ostinato.engine.turns import Joined, StillWaiting, Withdrawn
from ostinato.events import Result

WITHDRAWN: Final = "the message was taken back before it was sent"
STILL_WAITING: Final = (
    "its turn could not be written down, so the message still waits in the queue and was not sent"
)
LEFT: Final = "the query that had taken the message up was left"


def unsent_result(fate: Joined | Withdrawn | StillWaiting, session_id: str, uuid: str) -> Result:
    """The result of this `uuid` for a text of the session."""
    mine = Result("error_during_execution", session_id, uuid)
    match fate:
        case Joined(result):
            if result is None:
                return replace(mine, errors=(LEFT,), error_kind="left")
            return Result(
                result.subtype,
                result.session_id,
                mine.uuid,
                text=result.text,
                terminal_reason=result.terminal_reason,
                errors=result.errors,
                hint=result.hint,
                error_kind=result.error_kind,
                status=result.status,
                joined=result.uuid,
            )
        case Withdrawn():
            return replace(mine, errors=(WITHDRAWN,), error_kind="withdrawn")
        case StillWaiting(why):
            return replace(
                mine,
                errors=(f"{STILL_WAITING}: {why.message}",),
                hint=why.hint,
                error_kind="still_waiting",
            )
        case _:
            assert_never(fate)
