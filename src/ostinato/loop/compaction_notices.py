"""What the user is told of a compaction, in the form that clients of the field know."""

from typing import Final

from ostinato.messages import SystemMessage, notice_message
from ostinato.ports import Ids
from ostinato.records import Boundary

COMPACTED: Final = "The conversation had become long; its earlier part is now a summary. /context shows it, and what can be undone."
WITHOUT_MODEL: Final = (
    "The conversation had become long; its earlier part is now an account made from it without the model. /context shows it, and what "
    "can be undone."
)
FAILED: Final = "The conversation could not be summarised: {why}."
GOES_ON: Final = " It goes on as it is."

SUMMARISING: Final = "Summarising the conversation…"


def summarising_notice(ids: Ids) -> SystemMessage:
    """A model is asked for a summary, which takes its time; never stored."""
    return notice_message(ids.uuid(), "status", SUMMARISING, data={"status": "compacting"})


def summarised_notice(ids: Ids) -> SystemMessage:
    """The end of that, for who shows a state: what came of it is another notice's to say. Never stored."""
    return notice_message(ids.uuid(), "status", "", data={"status": None})


def boundary_notice(boundary: Boundary, ids: Ids, text: str = "") -> SystemMessage:
    """Clients know two triggers; what nobody asked for is `auto`. `text` empty: says who made it."""
    text = text or (WITHOUT_MODEL if boundary.trigger == "reactive" else COMPACTED)
    trigger = "manual" if boundary.trigger == "manual" else "auto"
    data = {"compact_metadata": {"trigger": trigger, "pre_tokens": boundary.pre_tokens}}
    return notice_message(ids.uuid(), "compact_boundary", text, data=data)


def failed_notice(why: str, ids: Ids, *, goes_on: bool) -> SystemMessage:
    """`goes_on`: nothing else has shortened it either."""
    text = FAILED.format(why=why) + (GOES_ON if goes_on else "")
    return notice_message(ids.uuid(), "compact_failed", text, level="warning")
