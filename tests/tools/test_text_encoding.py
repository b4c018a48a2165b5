"""Whatever the bytes are, decoding and encoding again gives them back, and pieces do not change the verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.tools.text_encoding import BYTE_ORDER_MARKS, EncodingScan, encoding_of

WIDE_MARKS = tuple(bom for bom, name in BYTE_ORDER_MARKS if name != "utf-8")


@settings(deadline=None)
@given(st.binary().filter(lambda data: not data.startswith(WIDE_MARKS)))
def test_every_byte_survives(data: bytes):
    encoding = encoding_of(data)
    assert encoding.encode(encoding.decode(data)) == data


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_text_with_its_encoding_is_recognised(text: str, name: str):
    data = text.encode(name)
    encoding = encoding_of(data)
    assert encoding.decode(data) == text.removeprefix("\ufeff" if name == "utf-8" else "")
    assert encoding.encode(encoding.decode(data)) == data


@settings(deadline=None)
@given(st.binary(min_size=4), st.lists(st.binary()))
def test_pieces_do_not_change_the_verdict(head: bytes, pieces: list[bytes]):
    scan = EncodingScan()
    for piece in (head, *pieces):
        scan.feed(piece)
    assert scan.result() == encoding_of(head + b"".join(pieces))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("ä".encode(), "utf-8"),
        ("ä".encode() + b"\xff", "utf-8"),
        ("ä \u201cq\u201d".encode("cp1252"), "cp1252"),
        (b"\x81\xe4", "latin-1"),
    ],
)
def test_verdicts(data: bytes, name: str):
    assert encoding_of(data).name == name
