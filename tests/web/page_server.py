"""A web server on 127.0.0.1 that plays pages byte for byte, each as often as it is asked for, and counts who came."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer

Page = Iterable[bytes] | Callable[[], Iterator[bytes]]


class PageServer:
    """`pages` by path; what is not there is a 404. `requests` holds the heads of all requests."""

    def __init__(self, pages: Mapping[str, Page], tls: ssl.SSLContext | None = None) -> None:
        self.pages = dict(pages)
        self.requests: list[str] = []
        self.connections = 0
        self._stop = threading.Event()
        outer = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                outer.connections += 1
                secured = (
                    tls.wrap_socket(self.request, server_side=True, do_handshake_on_connect=False)
                    if tls
                    else None
                )
                with suppress(OSError), secured or self.request as connection:
                    self.answered(connection)

            def answered(self, connection: socket.socket) -> None:
                head = b""
                while b"\r\n\r\n" not in head:
                    more = connection.recv(65_536)
                    if not more:
                        return
                    head += more
                outer.requests.append(head.decode("latin-1"))
                page = outer.pages.get(head.split(b" ")[1].decode("latin-1"), [answer(404, b"not here")])
                for piece in page() if callable(page) else page:
                    if outer._stop.is_set():
                        return
                    connection.sendall(piece)

        class Server(ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "PageServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer. `content_type="text/html"` is a header too; a length is given unless it is said."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("content-length", str(len(body)))
    lines = [
        f"HTTP/1.1 {status} X",
        *(f"{name}: {value}" for name, value in named.items() if value),
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def moved(to: str, status: int = 302) -> bytes:
    return answer(status, location=to)


def endless(head: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    """A chunked body without end."""

    def play() -> Iterator[bytes]:
        yield head
        while True:
            yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"

    return play
