"""The only place that turns records, messages and events into JSON and back, and that knows a session file's line.

What comes out is always valid UTF-8: half a surrogate pair becomes U+FFFD. What a newer version wrote is kept verbatim
(`Unknown`), never dropped. A line carries a seal (`seq`, `epoch`, `crc`), so that damage cannot pass for a record.
"""

import zlib
from functools import cache
from typing import Any, Final, Literal, assert_never, cast

import msgspec

from ostinato.events import Event
from ostinato.messages import (
    AnyAttachment,
    AssistantBlock,
    AssistantMessage,
    AttachmentMessage,
    Origin,
    SystemMessage,
    UserBlock,
    UserMessage,
)
from ostinato.records import AnyEdit, AnyFact, Fact, Record

FORMAT: Final = 1
"""Version of the line; a line of a later one is `Unknown`."""

_ENCODER: Final = msgspec.json.Encoder()


# Decoders of large unions take a millisecond each to make, and a new session reads nothing: made when first used.


@cache
def _record_decoder() -> msgspec.json.Decoder[Record]:
    return msgspec.json.Decoder(Record)


@cache
def _event_decoder() -> msgspec.json.Decoder[Event]:
    return msgspec.json.Decoder(Event)


class Unknown(msgspec.Struct, frozen=True):
    """JSON that this version cannot read, kept as it came; it has no effect on the view."""

    raw: bytes


# ------------------------------------------------------------------------------------------------ values


def encode(value: object) -> bytes:
    """The value as one line of JSON without its end. Raises TypeError for what has no JSON form."""
    if isinstance(value, Unknown):
        return value.raw
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_sanitised(msgspec.to_builtins(value, str_keys=True)))


def decode_record(data: bytes) -> Record | Unknown:
    """The record that `encode` made. Raises msgspec.DecodeError for what is not JSON."""
    try:
        return _record_decoder().decode(data)
    except msgspec.ValidationError:
        return Unknown(data)


def decode_event(data: bytes) -> Event | Unknown:
    """The query event that `encode` made. Raises msgspec.DecodeError for what is not JSON."""
    try:
        return _event_decoder().decode(data)
    except msgspec.ValidationError:
        return Unknown(data)


def sanitise(text: str) -> str:
    """The text with split surrogate pairs joined and lone halves replaced by U+FFFD; the same object if clean."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _sanitised(value: Any) -> Any:
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {_sanitised(key): _sanitised(item) for key, item in members.items()}
    if isinstance(value, list | tuple):
        items = cast("list[Any] | tuple[Any, ...]", value)
        return [_sanitised(item) for item in items]
    return value


# ------------------------------------------------------------------------------------------------ lines


class Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What stands around every record. `seq` has no gap; `epoch` grows with each opening for writing.

    `timestamp` is ISO 8601 in UTC with a Z. `stored` is the SHA-256 of the side file that holds the whole record; the
    line then carries a preview of it.
    """

    v: int
    seq: int
    epoch: int
    session_id: str
    timestamp: str
    cwd: str
    stored: str = ""


class _Chained(Envelope, frozen=True, kw_only=True, tag_field="type"):
    """A line that transcript readers follow by `parentUuid`."""

    uuid: str
    parent_uuid: str | None


class _Heard(msgspec.Struct, frozen=True, gc=False):
    role: Literal["user"]
    content: tuple[UserBlock, ...]


class _Said(msgspec.Struct, frozen=True, gc=False):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: tuple[AssistantBlock, ...]


class _UserLine(_Chained, frozen=True, kw_only=True, tag="user"):
    message: _Heard
    is_meta: bool = False
    origin: Origin = "prompt"
    block_ids: tuple[str, ...] = ()
    display: dict[str, Any] | None = None


class _AssistantLine(_Chained, frozen=True, kw_only=True, tag="assistant"):
    message: _Said
    block_ids: tuple[str, ...] = ()
    is_incomplete: bool = False
    is_api_error_message: bool = False


class _AttachmentLine(_Chained, frozen=True, kw_only=True, tag="attachment"):
    attachment: AnyAttachment


class _SystemLine(_Chained, frozen=True, kw_only=True, tag="system"):
    subtype: str
    content: str
    level: Literal["info", "warning", "error"] = "info"
    data: dict[str, Any] | None = None


class _RecordLine(Envelope, frozen=True, kw_only=True, tag_field="type", tag="ostinato"):
    """An edit or a fact; transcript readers skip the type."""

    record: AnyEdit | AnyFact | None


_AnyLine = _UserLine | _AssistantLine | _AttachmentLine | _SystemLine | _RecordLine


@cache
def _line_decoder() -> msgspec.json.Decoder[_AnyLine]:
    return msgspec.json.Decoder(_AnyLine)


_ENVELOPE: Final = msgspec.json.Decoder(Envelope)


class SealedLine(msgspec.Struct, frozen=True, gc=False):
    """A line of ours whose seal holds. `record` is None if only the side file has it."""

    envelope: Envelope
    record: Record | Unknown | None


class ForeignLine(msgspec.Struct, frozen=True, rename="camel"):
    """A line that another program appended; it can name the session and tag it, nothing else."""

    type: str = ""
    custom_title: str | None = None
    tag: str | None = None


class BrokenLine(msgspec.Struct, frozen=True):
    """Not a whole line of ours, and not one of anybody else's."""

    reason: str


class _SealTraces(msgspec.Struct, frozen=True):
    seq: Any = None
    crc: Any = None


_FOREIGN: Final = msgspec.json.Decoder(ForeignLine)
_TRACES: Final = msgspec.json.Decoder(_SealTraces)
_SEAL_LENGTH: Final = len(b',"crc":"00000000"}')


def encode_line(record: Record | None, envelope: Envelope, parent: str | None) -> bytes:
    """The record as a sealed line with its end. `parent` is the uuid of the message before (messages only).

    The crc is CRC-32 over the line's bytes before its `,"crc"` member.
    """
    body = encode(_line(record, envelope, parent))[:-1]
    return b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def can_be_read(line: bytes) -> bool:
    """Whether a line that was just sealed holds only values of the kinds that a reader takes: annotations bind nobody at run time."""
    try:
        _line_decoder().decode(line)
    except msgspec.DecodeError:
        return False
    return True


def decode_line(line: bytes) -> SealedLine | ForeignLine | BrokenLine:
    """What a line without its end holds."""
    body, seal = line[:-_SEAL_LENGTH], line[-_SEAL_LENGTH:]
    if seal != b',"crc":"%08x"}' % zlib.crc32(body):
        return _unsealed(line)
    try:
        found = _line_decoder().decode(line)
    except msgspec.ValidationError:
        return _later_version(line)
    if found.v > FORMAT:
        return _later_version(line)
    return SealedLine(found, _record_of(found))


def _later_version(line: bytes) -> SealedLine | BrokenLine:
    try:
        return SealedLine(_ENVELOPE.decode(line), Unknown(line))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BrokenLine(str(error))


def _unsealed(line: bytes) -> ForeignLine | BrokenLine:
    """A line of ours with one bit turned still shows `seq` or `crc`, or is no JSON any more; so it is never foreign."""
    try:
        traces = _TRACES.decode(line)
        if traces.seq is not None or traces.crc is not None:
            return BrokenLine("the checksum does not match")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BrokenLine(str(error))
    return _foreign(line)


def _foreign(line: bytes) -> ForeignLine:
    try:
        return _FOREIGN.decode(line)
    except msgspec.DecodeError:  # another program's business: its fields may mean anything
        return ForeignLine()


def _line(record: Record | None, envelope: Envelope, parent: str | None) -> _AnyLine:
    around = (
        envelope.v,
        envelope.seq,
        envelope.epoch,
        envelope.session_id,
        envelope.timestamp,
        envelope.cwd,
        envelope.stored,
    )
    match record:
        case Fact() | None:  # by far the most
            return _RecordLine(*around, record=record)
        case UserMessage():
            return _UserLine(
                *around,
                uuid=record.uuid,
                parent_uuid=parent,
                message=_Heard("user", record.content),
                is_meta=record.is_meta,
                origin=record.origin,
                block_ids=record.block_ids,
                display=None if record.display is None else dict(record.display),
            )
        case AssistantMessage():
            return _AssistantLine(
                *around,
                uuid=record.uuid,
                parent_uuid=parent,
                message=_Said(record.response_id, "message", "assistant", record.model, record.content),
                block_ids=record.block_ids,
                is_incomplete=record.is_incomplete,
                is_api_error_message=record.is_error,
            )
        case AttachmentMessage():
            return _AttachmentLine(
                *around, uuid=record.uuid, parent_uuid=parent, attachment=record.attachment
            )
        case SystemMessage():
            return _SystemLine(
                *around,
                uuid=record.uuid,
                parent_uuid=parent,
                subtype=record.subtype,
                content=record.text,
                level=record.level,
                data=None if record.data is None else dict(record.data),
            )
        case _:
            return _RecordLine(*around, record=record)


def _record_of(line: _AnyLine) -> Record | None:
    match line:
        case _UserLine():
            return _heard(line)
        case _AssistantLine():
            return AssistantMessage(
                line.uuid,
                line.message.id,
                line.message.model,
                line.message.content,
                line.block_ids,
                is_incomplete=line.is_incomplete,
                is_error=line.is_api_error_message,
            )
        case _AttachmentLine():
            return AttachmentMessage(line.uuid, line.attachment)
        case _SystemLine():
            return SystemMessage(line.uuid, line.subtype, line.content, line.level, line.data)
        case _RecordLine():
            return line.record
        case _:
            assert_never(line)


def _heard(line: _UserLine) -> UserMessage:
    return UserMessage(
        line.uuid,
        line.message.content,
        is_meta=line.is_meta,
        origin=line.origin,
        block_ids=line.block_ids,
        display=line.display,
    )
