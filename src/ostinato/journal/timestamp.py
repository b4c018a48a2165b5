"""The time of a record as text. Records come in bursts: what does not change within a second is made once a second."""

from datetime import UTC, datetime


class Timestamp:
    """Remembers the second that was stamped last."""

    def __init__(self) -> None:
        self._second = datetime.min.replace(tzinfo=UTC)
        self._text = ""

    def of(self, moment: datetime) -> str:
        """ISO 8601 in UTC with milliseconds and a Z; a `moment` without a zone is taken for local time."""
        utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
        microsecond = utc.microsecond
        second = utc.replace(microsecond=0)
        if second != self._second:
            self._second, self._text = second, second.isoformat(timespec="seconds")[:-6]
        return f"{self._text}.{microsecond // 1000:03}Z"
