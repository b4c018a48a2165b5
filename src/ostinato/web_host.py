"""The one name of a host, however it is written: what rules judge and what is then asked must be the same.

So letters that only look like others (ⅇ, full width), other dots, capitals and numbers in other forms (`0x7f.1`) are gone.
"""

import re
import socket
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult

NUMBERS: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}")
"""What the system takes for an address of version 4."""


def host_of(parts: SplitResult) -> str:
    """ASCII, in lower case, without brackets; "" where there is none. Raises ValueError for what no host can be called."""
    return host_name(parts.hostname or "")


def host_name(text: str) -> str:
    """The same for a host alone. Raises ValueError."""
    name = text if text.isascii() else text.encode("idna").decode("ascii")
    name = name.lower().rstrip(".")
    if ":" in name:
        address, percent, zone = name.partition("%")
        return IPv6Address(address).compressed + percent + zone
    if NUMBERS.fullmatch(name):
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError as error:
            raise ValueError(f"`{name}` is no address") from error
    return name
