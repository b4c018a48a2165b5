"""Which addresses may be read: public ones. A host's own network, its metadata service and itself only where it was said so.

An address inside another one (IPv4 in IPv6, in all its forms) counts as what it leads to.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

import msgspec

from ostinato.errors import UsageError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""NAT64: the last four bytes are an IPv4 address."""

GLOBAL_V6: Final = IPv6Network("2000::/3")
"""All that is given out; an address elsewhere leads to nobody, or to somebody near."""

PROTOCOLS_V4: Final = IPv4Network("192.0.0.0/24")
"""Not public, though some versions of the standard library say so."""

HOSTS_OWN: Final = frozenset({IPv4Address("168.63.129.16")})
"""A public number that leads, from inside a cloud (Azure), to the service that configures the machine."""


def address_problem(text: str) -> str | None:
    """What kind of address that is, if it is no public one."""
    address = ip_address(text.partition("%")[0])
    return next((problem for one in _meant(address) if (problem := _problem(one)) is not None), None)


def is_number(host: str) -> bool:
    """Whether a host is an address itself and no name."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _meant(address: Address) -> Iterator[Address]:
    yield address
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in TRANSLATED):
        yield IPv4Address(address.packed[-4:])


def _problem(address: Address) -> str | None:
    if isinstance(address, IPv6Address) and (
        address.ipv4_mapped is not None or any(address in network for network in TRANSLATED)
    ):
        return None  # it is what it leads to
    if address.is_loopback or address.is_unspecified:
        return "this machine's own address"
    if address.is_link_local or address in HOSTS_OWN:
        return "a link-local address or a cloud's own, where metadata services are"
    if address.is_multicast:
        return "a multicast address"
    is_given_out = address not in PROTOCOLS_V4 if isinstance(address, IPv4Address) else address in GLOBAL_V6
    return None if address.is_global and is_given_out else "a private address"


class AllowedPlaces(msgspec.Struct, frozen=True):
    """Places that may be read although they are not public: hosts (with a port or without) and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def covers(self, host: str, port: int, address: str) -> bool:
        name = host.lower().rstrip(".")
        if name in self.hosts or f"{name}:{port}" in self.hosts:
            return True
        real = ip_address(address.partition("%")[0])
        return any(real in network for network in self.networks if network.version == real.version)

    def names(self, host: str, port: int) -> bool:
        """Whether the host itself stands here."""
        name = host.lower().rstrip(".")
        return name in self.hosts or f"{name}:{port}" in self.hosts


NOWHERE_ELSE: Final = AllowedPlaces()


def allowed_places(entries: Iterable[str]) -> AllowedPlaces:
    """From `host`, `host:port`, an address, or a network such as `10.0.0.0/8`. Raises UsageError for anything else."""
    hosts: set[str] = set()
    networks: list[Network] = []
    for entry in entries:
        text = entry.strip().lower().rstrip(".")
        try:
            networks.append(ip_network(text.strip("[]"), strict=False))
        except ValueError:
            if not text or any(letter in text for letter in "/@?# *"):
                raise UsageError(
                    f"`web_private_hosts` has `{entry}`",
                    hint="write `localhost:8000`, `wiki.internal` or `10.0.0.0/8`",
                ) from None
            hosts.add(text)
    return AllowedPlaces(frozenset(hosts), tuple(networks))
