"""The time of a record as text. Records come in bursts: what does not change within a second is made once a second."""

from datetime import UTC, datetime, timedelta

_SECOND = timedelta(seconds=1)


class Timestamp:
    """Remembers the second that was stamped last."""

    def __init__(self) -> None:
        self._from = self._until = datetime.min.replace(tzinfo=UTC)
        self._text = ""

    def of(self, moment: datetime) -> str:
        """ISO 8601 in UTC with milliseconds and a Z; a `moment` without a zone is taken for local time."""
        utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
        if not self._from <= utc < self._until:
            self._from = utc.replace(microsecond=0)
            self._until = self._from + _SECOND
            self._text = self._from.isoformat(timespec="seconds")[:-6]
        return f"{self._text}.{utc.microsecond // 1000:03}Z"
