"""Requests that offer to go on in another protocol, as Java's client by default does with HTTP/2 (`Upgrade: h2c`).

A server may ignore such an offer (RFC 9110, 7.8). httptools ends the request behind its head then, and the body is
lost; so the head is parsed once more without the offer, and what came behind it follows.
"""

from __future__ import annotations

import contextlib
from array import array
from typing import Protocol

import httptools


class Reading(Protocol):
    """What the parser tells; see uvicorn's HttpToolsProtocol."""

    url: bytes
    headers: list[tuple[bytes, bytes]]


class OfferIgnoringParser(httptools.HttpRequestParser):
    """A parser of requests whose `feed_data` never raises HttpParserUpgrade.

    While `should_upgrade()` holds, what the parser tells is to be left alone: it is told again.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        with contextlib.suppress(AttributeError):  # httptools < 0.6.3; uvicorn sets it likewise
            self.set_dangerous_leniencies(lenient_data_after_close=True)
        self._reading = reading

    def feed_data(self, data: bytes | bytearray | memoryview | array[int]) -> None:
        """Parse some bytes. Raises HttpParserError, for a tunnel (`CONNECT`) as well."""
        while len(data):
            try:
                super().feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                if self.get_method() == b"CONNECT":
                    raise httptools.HttpParserError("there are no tunnels here") from None
                data = self._head_without_offer() + bytes(data[offer.args[0] :])

    def _head_without_offer(self) -> bytes:
        version = self.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.get_method(), self._reading.url, version)]
        lines += [b"%b: %b" % pair for pair in self._reading.headers if pair[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])
