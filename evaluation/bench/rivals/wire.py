"""What goes over the wire to each product: the bytes of a lookup and of a store, and how a hit is told from a miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from evaluation.bench import load

LINE = "bench"
STORED_LINE = "bench-store"
"""Surehit's line for what is stored while we measure: the others have one cache for everything."""
MODEL = "fake-small"
ANSWER = "x" * 1880
_CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Wire:
    """Requests of one product, each made from a question, and what the body of its replies must hold."""

    lookup: Callable[[str], bytes]
    lookup_only: Callable[[str], bytes]
    """A lookup that leaves nothing behind when it misses; the same as `lookup` but for proxies."""
    store: Callable[[str], bytes]
    fill: Callable[[str], bytes]
    """A store of an entry that lookups shall find."""
    hit: bytes
    semantic_hit: bytes
    miss: bytes


def surehit(key: str) -> Wire:
    """The sidecar, with its API key."""
    headers = f"Authorization: Bearer {key}\r\n"

    def lookup(question: str) -> bytes:
        return _post("/v1/lookup", {"line": LINE, "prompt": question}, headers)

    def store(question: str, line: str = STORED_LINE) -> bytes:
        return _post("/v1/store", {"line": line, "prompt": question, "response": ANSWER}, headers)

    return Wire(
        lookup=lookup,
        lookup_only=lookup,
        store=store,
        fill=lambda question: store(question, LINE),
        hit=b'"tier":"exact"',
        semantic_hit=b'"tier":"semantic"',
        miss=b'"below_threshold"',
    )


def surehit_proxy(key: str) -> Wire:
    """Surehit's OpenAI proxy; whether a reply was a hit is seen from the provider's calls."""
    ours = f"Authorization: Bearer sk-bench\r\nX-Surehit-Key: {key}\r\n"

    def ask(question: str, line: str = LINE, headers: str = "") -> bytes:
        line_header = f"X-Surehit-Line: {line}\r\n"
        return _post("/openai" + _CHAT, _chat(question), ours + line_header + headers)

    return Wire(
        lookup=ask,
        lookup_only=lambda question: ask(question, headers="Cache-Control: no-store\r\n"),
        store=lambda question: ask(question, STORED_LINE, "Cache-Control: no-cache\r\n"),
        fill=lambda question: ask(question, LINE, "Cache-Control: no-cache\r\n"),
        hit=b"chat.completion",
        semantic_hit=b"chat.completion",
        miss=b"chat.completion",
    )


def litellm(key: str) -> Wire:
    """LiteLLM's proxy with its own cache controls; whether a reply was a hit is seen from the provider's calls."""
    headers = f"Authorization: Bearer {key}\r\n"

    def ask(question: str, control: dict[str, bool] | None = None) -> bytes:
        controls = {"cache": control} if control else {}
        return _post(_CHAT, _chat(question) | controls, headers)

    def store(question: str) -> bytes:
        return ask(question, {"no-cache": True})

    return Wire(
        lookup=ask,
        lookup_only=lambda question: ask(question, {"no-store": True}),
        store=store,
        fill=store,
        hit=b"chat.completion",
        semantic_hit=b"chat.completion",
        miss=b"chat.completion",
    )


def gptcache() -> Wire:
    """GPTCache's server, which answers 200 with `null` on a miss."""

    def lookup(question: str) -> bytes:
        return _post("/get", {"prompt": question})

    def store(question: str) -> bytes:
        return _post("/put", {"prompt": question, "answer": ANSWER})

    return _plain(lookup, store, hit=b'"answer":"xxx', miss=b'"answer":null')


def route() -> Wire:
    """A library behind the plain route of `servers/`."""

    def lookup(question: str) -> bytes:
        return _post("/lookup", {"prompt": question})

    def store(question: str) -> bytes:
        return _post("/store", {"prompt": question, "response": ANSWER})

    return _plain(lookup, store, hit=b'"outcome":"hit"', miss=b'"outcome":"miss"')


def _plain(
    lookup: Callable[[str], bytes], store: Callable[[str], bytes], *, hit: bytes, miss: bytes
) -> Wire:
    return Wire(lookup, lookup, store, store, hit, hit, miss)


def _chat(question: str) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": question}]}


def _post(path: str, body: dict[str, Any], headers: str = "") -> bytes:
    return load.request(path, orjson.dumps(body), headers=headers)
