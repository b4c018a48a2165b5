"""A packed body means the same in whatever pieces it comes, and one that breaks off is not taken for a whole one."""

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.web.unpacking import unpacking

TEXT = b"hello, hello, world. " * 40


def bare(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


FORMS = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "gzip in two pieces": ("x-gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
    "gzip with an empty piece": ("GZIP ", gzip.compress(b"") + gzip.compress(TEXT)),
    "gzip and zeros": ("gzip", gzip.compress(TEXT) + b"\0" * 50),
    "gzip and what is no piece": ("gzip", gzip.compress(TEXT) + b"trailing words"),
    "zlib": ("deflate", zlib.compress(TEXT)),
    "bare": ("deflate", bare(TEXT)),
    "nothing done": ("identity", TEXT),
    "nothing said": ("", TEXT),
}


def unpacked(name: str, chunks: list[bytes], max_bytes: int = 1 << 20) -> tuple[bytes, bool]:
    packed, plain = unpacking(name), b""
    for chunk in chunks:
        plain += packed.some(chunk, max_bytes)
    return plain, packed.is_whole


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100_000])
def test_it_is_the_same_in_pieces_of_any_size(form: str, size: int):
    name, data = FORMS[form]
    chunks = [data[place : place + size] for place in range(0, len(data), size)]
    assert unpacked(name, chunks) == (TEXT, True)


@pytest.mark.parametrize("form", ["gzip", "gzip in two pieces", "zlib", "bare"])
@pytest.mark.parametrize("missing", [1, 5, 12])
def test_what_breaks_off_is_not_whole(form: str, missing: int):
    name, data = FORMS[form]
    plain, is_whole = unpacked(name, [data[:-missing]])
    assert TEXT.startswith(plain)
    assert not is_whole


@pytest.mark.parametrize(
    ("name", "data"), [("gzip", b"no gzip"), ("gzip", bare(TEXT)), ("deflate", b"\xff" * 9), ("br", b"")]
)
def test_what_is_no_packing_is_refused(name: str, data: bytes):
    with pytest.raises(ValueError, match=r"unpacked|nobody asked"):
        unpacked(name, [data])


def test_nothing_that_is_packed_is_whole():
    assert unpacked("gzip", []) == (b"", True)


@settings(deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.integers(1, 50))
def test_no_more_is_unpacked_than_is_wanted(form: str, most: int):
    name, data = FORMS[form]
    plain = unpacking(name).some(data, most)
    assert TEXT.startswith(plain[:most])
    assert name.strip() in {"", "identity"} or len(plain) == most
