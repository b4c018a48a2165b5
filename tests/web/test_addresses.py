"""Only public addresses are read, however an address is written; what the user named is read too, and no more than that."""

import pytest

from ostinato.errors import UsageError
from ostinato.web.addresses import address_problem, allowed_places


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "192.0.0.192",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::127.0.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:a00:1::1",
        "2001:db8::1",
    ],
)
def test_what_is_not_public_is_refused(address: str):
    assert address_problem(address) is not None


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_what_is_public_is_read(address: str):
    assert address_problem(address) is None


def test_places_are_allowed_as_they_are_named():
    places = allowed_places(["localhost:8000", "Wiki.Internal.", "10.0.0.0/8", "[fd00::1]"])
    assert places.covers("localhost", 8000, "127.0.0.1")
    assert not places.covers("localhost", 8001, "127.0.0.1")
    assert places.covers("wiki.internal", 443, "192.168.1.1")
    assert not places.covers("other.wiki.internal", 443, "192.168.1.1")
    assert places.covers("anything.example", 80, "10.9.9.9")
    assert places.covers("anything.example", 80, "fd00::1")
    assert not places.covers("anything.example", 80, "192.168.1.1")


@pytest.mark.parametrize("entry", ["", "http://a", "a/b", "*.internal", "me@host"])
def test_what_names_no_place_is_refused(entry: str):
    with pytest.raises(UsageError, match="web_private_hosts"):
        allowed_places([entry])
