"""An upstream that says exactly what a test wrote for it, byte by byte: for what no honest server would send."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

Script = Sequence[bytes | float]
"""Bytes to send and seconds to wait, in order; then the connection is closed."""


@dataclass
class Scripted:
    """The reply in force, and the requests as they came."""

    script: Script = ()
    requests: list[bytes] = field(default_factory=list)

    @property
    def call_count(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def says(self, *body: bytes | float, status: str = "200 OK", **headers: str) -> None:
        """Answer with this from now on; names of headers with `_` for `-`."""
        named = {"content_type": "application/json"} | headers
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items() if value]
        head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "connection: close", "", ""])
        self.script = [head.encode(), *body]

    def streams(self, *body: bytes | float, **headers: str) -> None:
        """Answer with server-sent events."""
        self.says(*body, **({"content_type": "text/event-stream"} | headers))


@contextmanager
def scripted() -> Iterator[tuple[str, Scripted]]:
    """(address, the upstream)."""
    upstream = Scripted()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_answer, args=(upstream, connection), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield "http://{}:{}/v1".format(*listener.getsockname()[:2]), upstream
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _answer(upstream: Scripted, connection: socket.socket) -> None:
    with connection:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        while len(body) < length:
            body += connection.recv(65536)
        upstream.requests.append(head + b"\r\n\r\n" + body)
        for step in upstream.script:
            try:
                if isinstance(step, bytes):
                    connection.sendall(step)
                else:
                    time.sleep(step)
            except OSError:
                return
