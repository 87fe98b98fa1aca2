"""Upstreams that are not as the official ones are: compressed, oddly spelled, broken, chained. Callers get what came;
the cache keeps what was whole and good, and nothing else.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.service.proxy.rig import Rig, cache_status, chat, rigged
from tests.service.proxy.scripted import Scripted, scripted

SAID = "Grüße aus Köln 👋🏽"


def completion(text: str = SAID) -> bytes:
    """A whole chat completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(head | {"choices": [choice]}, ensure_ascii=False).encode()


def chunks(
    *, before: bytes = b"data: ", behind: bytes = b"\n\n", end: bytes = b"[DONE]"
) -> list[bytes]:
    """The same as events of a stream."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    steps: list[tuple[dict[str, str], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": SAID[:6]}, None),
        ({"content": SAID[6:]}, None),
        ({}, "stop"),
    ]
    events = [
        json.dumps(
            head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]},
            ensure_ascii=False,
        ).encode()
        for delta, reason in steps
    ]
    return [before + event + behind for event in [*events, end]]


@pytest.fixture
def odd(sqlite_url: str, tmp_path: Path) -> Iterator[tuple[Rig, Scripted]]:
    """A service in front of a scripted upstream, for both providers."""
    with (
        scripted() as (address, upstream),
        rigged(sqlite_url, tmp_path, openai_base_url=address, anthropic_base_url=address) as rig,
    ):
        yield rig, upstream


def heard(client: openai.OpenAI, question: str) -> str:
    """What the official client makes of a stream."""
    stream = client.chat.completions.create(**chat(question), stream=True)
    return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("GZIP", gzip.compress), ("deflate", zlib.compress)],
)
def test_compressed_although_not_asked_for(
    odd: tuple[Rig, Scripted], coding: str, pack: Any
) -> None:
    """Answers, streams and errors reach the client readable, and answers are stored."""
    rig, upstream = odd
    whole, stream = pack(completion()), pack(b"".join(chunks()))
    upstream.says(whole, content_encoding=coding, content_length=str(len(whole)))
    first = rig.chat("whole")
    assert first.json()["choices"][0]["message"]["content"] == SAID
    assert "content-encoding" not in first.headers
    assert cache_status(rig.chat("whole"))["hit"] is True
    upstream.streams(stream, content_encoding=coding, content_length=str(len(stream)))
    assert heard(rig.openai(), "streamed") == SAID
    assert cache_status(rig.chat("streamed", stream=True))["hit"] is True
    slow_down = pack(b'{"error":{"message":"slow down","type":"rate_limit_error","code":"x"}}')
    upstream.says(slow_down, status="429 Slow", content_encoding=coding, retry_after="7")
    with pytest.raises(openai.RateLimitError, match="slow down") as error:
        heard(rig.openai(), "refused")
    assert error.value.response.headers["retry-after"] == "7"


def test_coding_that_we_cannot_unpack_passes_as_it_is(odd: tuple[Rig, Scripted]) -> None:
    """Its name stays on it, and nothing of it is stored."""
    rig, upstream = odd
    upstream.says(b"\x1b\x00packed", content_encoding="dcb", content_type="application/json")
    with rig.http.stream(
        "POST",
        f"{rig.base}/openai/v1/chat/completions",
        json=chat("odd"),
        headers={"authorization": "Bearer k"},
    ) as reply:
        assert b"".join(reply.iter_raw()) == b"\x1b\x00packed"
        assert reply.headers["content-encoding"] == "dcb"
    assert rig.count_entries() == 0


@pytest.mark.parametrize(
    ("form", "content_type"),
    [
        ({}, "Text/Event-Stream; charset=utf-8"),
        ({}, ""),
        ({"behind": b"\r\n\r\n"}, "text/event-stream"),
        ({"behind": b"\r\r"}, "text/event-stream"),
        ({"before": b"data:"}, "text/event-stream"),
        ({"before": b": PROCESSING\n\nid: 7\nretry: 10\ndata: "}, "text/event-stream"),
        ({"before": b"event: message\ndata: "}, "text/event-stream"),
        ({"end": b"[DONE]\n\n: junk behind the end"}, "text/event-stream"),
    ],
    ids=repr,
)
def test_every_spelling_of_a_stream_is_understood(
    odd: tuple[Rig, Scripted], form: dict[str, bytes], content_type: str
) -> None:
    """Also cut after every byte, so inside characters of four bytes; callers get the bytes themselves, as they come."""
    rig, upstream = odd
    events = chunks(**form)
    first, rest = events[0], b"".join(events[1:])
    upstream.streams(
        first, 0.5, *(rest[at : at + 1] for at in range(len(rest))), content_type=content_type
    )
    began = time.monotonic()
    with rig.http.stream(
        "POST",
        f"{rig.base}/openai/v1/chat/completions",
        json=chat("spelt", stream=True),
        headers={"authorization": "Bearer k"},
    ) as reply:
        pieces = reply.iter_raw()
        got = [next(pieces)]
        early = time.monotonic() - began
        got += pieces
        whole_s = time.monotonic() - began
    assert b"".join(got) == b"".join(events)
    assert whole_s - early > 0.3, "the first event waited for the others"
    assert heard(rig.openai(), "spelt") == SAID
    plain = rig.chat("spelt")
    assert plain.json()["choices"][0]["message"]["content"] == SAID
    assert cache_status(plain)["hit"] is True
    assert upstream.call_count == 1


BAD_BODIES = [
    b"",
    b"<html>Bad gateway</html>",
    b"\xef\xbb\xbf" + completion(),
    completion()[:-3],
    b"null",
    b"[]",
    b'{"object":"chat.completion","choices":[]}',
    b"".join(chunks()[:-1]),
    b"".join(chunks(end=b'{"error":{"message":"overloaded"}}')),
]


@pytest.mark.parametrize("stream", [False, True])
def test_good_status_on_a_bad_body_is_passed_on_and_never_stored(
    odd: tuple[Rig, Scripted], stream: bool
) -> None:
    """Under its own type or none; the next caller asks the upstream again."""
    rig, upstream = odd
    for body in BAD_BODIES:
        for content_type in ("application/json", "text/event-stream", ""):
            upstream.says(body, content_type=content_type)
            reply = rig.chat("bad", stream=stream)
            assert (reply.status_code, reply.content) == (200, body)
            assert "stored" not in cache_status(reply)
    assert upstream.call_count == 3 * len(BAD_BODIES)
    assert rig.count_entries() == 0


_OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BROKEN = [
    [],
    [b"no HTTP at all\r\n\r\n"],
    [_OK + b"content-length: 900\r\n\r\n{"],
    [_OK + b"content-encoding: gzip\r\n\r\nno gzip"],
    [_OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n"],
]


@pytest.mark.parametrize("stream", [False, True])
def test_broken_upstream_is_an_error_in_the_providers_shape(
    odd: tuple[Rig, Scripted], stream: bool
) -> None:
    """502 that says what the cache had looked up (RFC 9211), on both providers' routes; nothing is stored."""
    rig, upstream = odd
    routes: dict[str, Any] = {
        "/openai/v1/chat/completions": {},
        "/anthropic/v1/messages": {"max_tokens": 9},
    }
    for script in BROKEN:
        upstream.script = script
        for path, more in routes.items():
            reply = rig.post(path, chat("broken", stream=stream) | more)
            assert reply.status_code == 502
            assert reply.json()["error"]["message"].startswith("Surehit: the upstream broke off")
            assert cache_status(reply)["fwd"] == "miss"
    assert rig.count_entries() == 0


def test_answer_that_is_not_as_asked_is_passed_on_and_not_stored(
    odd: tuple[Rig, Scripted],
) -> None:
    """JSON that is none, whole or streamed, and too few vectors; the same text is stored where none was asked for."""
    rig, upstream = odd
    wanted = {"response_format": {"type": "json_object"}}
    for stream in (False, True):
        upstream.says(completion("Sure: {"))
        if stream:
            upstream.streams(*chunks())
        for _ in range(2):
            reply = rig.chat("as JSON", stream=stream, **wanted)
            assert (reply.status_code, cache_status(reply)["fwd"]) == (200, "miss")
    assert upstream.call_count == 4
    upstream.says(b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0]}]}')
    for _ in range(2):
        reply = rig.post("/openai/v1/embeddings", {"model": "m", "input": ["a", "b"]})
        assert "stored" not in cache_status(reply)
    assert upstream.call_count == 6
    upstream.says(completion("Sure: {"))
    assert cache_status(rig.chat("as text"))["stored"] is True


def test_stream_for_an_api_without_streams_passes(odd: tuple[Rig, Scripted]) -> None:
    """Embeddings are never streamed; an upstream that does is not our error."""
    rig, upstream = odd
    upstream.streams(b"data: {}\n\n")
    reply = rig.post("/openai/v1/embeddings", {"model": "m", "input": "x"})
    assert (reply.status_code, reply.content) == (200, b"data: {}\n\n")
    assert rig.count_entries() == 0


def test_another_surehit_behind_this_one(odd: tuple[Rig, Scripted]) -> None:
    """Its ids are of no use to our caller; its `Cache-Status` stays, in front of ours (RFC 9211 §2)."""
    rig, upstream = odd
    upstream.says(
        completion(),
        x_surehit_lookup_id="lkp_theirs",
        x_surehit_score="0.5",
        cache_status="surehit; hit; detail=exact",
        age="9",
    )
    reply = rig.chat("chained")
    assert reply.headers.get_list("x-surehit-lookup-id")[0] != "lkp_theirs"
    assert len(reply.headers.get_list("x-surehit-lookup-id")) == 1
    assert "x-surehit-score" not in reply.headers
    assert "age" not in reply.headers
    first, second = reply.headers.get_list("cache-status")
    assert first == "surehit; hit; detail=exact"
    assert second.startswith("surehit; fwd=miss")


def test_no_spelling_of_a_path_climbs_out(odd: tuple[Rig, Scripted]) -> None:
    """Encoded slashes and backslashes count as slashes: some servers take them for that."""
    rig, upstream = odd
    for path in ("%2e%2e%2fadmin", "x/..%2f..%2fadmin", "..%5cadmin", "a/%2e%2e%5c", "%2E%2E/x"):
        reply = rig.http.get(f"{rig.base}/openai/v1/{path}")
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "malformed-body"), path
    assert upstream.call_count == 0


@pytest.mark.parametrize(("method", "length"), [("HEAD", "5"), ("OPTIONS", "0")])
def test_other_methods_on_a_cached_route_pass_through(
    odd: tuple[Rig, Scripted], method: str, length: str
) -> None:
    """A reply without a body keeps its headers."""
    rig, upstream = odd
    upstream.says(content_length=length, allow="POST")
    reply = rig.http.request(method, f"{rig.base}/openai/v1/chat/completions")
    assert (reply.status_code, reply.headers["content-length"]) == (200, length)
    assert reply.headers["allow"] == "POST"
    assert "cache-status" not in reply.headers


def test_headers_of_the_official_clients_reach_the_upstream_and_not_the_key(
    odd: tuple[Rig, Scripted],
) -> None:
    """`X-Stainless-*`, `User-Agent`, organisation and a long header of one's own: passed on, no part of the key."""
    rig, upstream = odd
    upstream.says(completion())
    rig.openai(organization="org-1").chat.completions.create(**chat("same"))
    sent = upstream.requests[0].lower()
    for name in (
        b"x-stainless-lang: python",
        b"user-agent: openai/python",
        b"openai-organization: org-1",
    ):
        assert name in sent
    assert b"accept-encoding: identity" in sent
    again = rig.chat("same", headers={"x-stainless-retry-count": "2", "x-long": "y" * 30_000})
    assert cache_status(again)["hit"] is True


@pytest.mark.parametrize("status", ["202 Accepted", "203 Changed", "206 Partial Content"])
def test_a_status_that_does_not_say_whole_is_passed_on_and_not_stored(
    odd: tuple[Rig, Scripted], status: str
) -> None:
    rig, upstream = odd
    for question, is_streamed in (("plain", False), ("streamed", True)):
        if is_streamed:
            upstream.streams(b"".join(chunks()), status=status)
        else:
            upstream.says(completion(), status=status)
        for _ in range(2):
            reply = rig.chat(question, stream=is_streamed)
            assert reply.status_code == int(status[:3])
            assert cache_status(reply).get("hit") is not True


def test_an_answer_that_nobody_can_see_is_passed_on_and_not_stored(
    odd: tuple[Rig, Scripted],
) -> None:
    rig, upstream = odd
    upstream.says(completion("\u200b\u2060"))
    for _ in range(2):
        assert cache_status(rig.chat("unseen")).get("hit") is not True


def embeddings(*indices: Any) -> bytes:
    """An answer with these positions, one vector at each."""
    data = [{"object": "embedding", "index": at, "embedding": [0.5, 1.0]} for at in indices]
    return json.dumps({"object": "list", "model": "e", "data": data}).encode()


def test_fields_of_other_types_than_theirs_are_passed_on_and_not_stored(
    odd: tuple[Rig, Scripted], capfd: pytest.CaptureFixture[str]
) -> None:
    """As an answer that is none, and not as a failure of ours."""
    rig, upstream = odd
    for body in (embeddings("0", 1), embeddings([0], 1), embeddings(None, {})):
        upstream.says(body)
        for _ in range(2):
            reply = rig.post("/openai/v1/embeddings", {"model": "e", "input": ["a", "b"]})
            assert (reply.status_code, reply.content) == (200, body)
            assert "stored" not in cache_status(reply)
    upstream.says(completion().replace(b'"stop"', b'["stop"]'))
    for _ in range(2):
        assert "stored" not in cache_status(rig.chat("an ending that is a list"))
    assert upstream.call_count == 8
    assert rig.metric("surehit_proxy_not_stored_total", reason="malformed") == 8
    assert "failed" not in capfd.readouterr().out


def test_counts_that_nobody_can_have_counted_leave_the_ledger_whole(
    odd: tuple[Rig, Scripted],
) -> None:
    """One answer of an odd server must not take the figures of all others along."""
    rig, upstream = odd
    upstream.says(completion()[:-1] + b', "usage": {"prompt_tokens": %d}}' % 10**30)
    rig.chat("counted by nobody")
    upstream.says(completion()[:-1] + b', "usage": {"prompt_tokens": 11, "completion_tokens": 3}}')
    rig.chat("counted well")
    reply = rig.http.get(f"{rig.base}/v1/ledger")
    assert reply.status_code == 200, reply.text
    row = next(
        row for row in reply.json()["lines"]["default"] if row["layer"] == "provider_prompt_cache"
    )
    assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (2, 11, 3)


@pytest.mark.parametrize(
    "ambiguous",
    [
        b'{"model":"fake-small","temperature":0,"messages":[{"role":"user","content":"Say: phone 555"}],'
        b'"messages":[{"role":"user","content":"plain"}]}',
        b'{"model":"fake-small","temperature":0,"messages":[{"role":"user","content":"Say: phone 555",'
        b'"c\\u006fntent":"plain"}]}',
    ],
)
def test_an_answer_to_a_body_of_two_readings_is_for_its_caller_alone(
    odd: tuple[Rig, Scripted], ambiguous: bytes
) -> None:
    """Of a name given twice we read the last; an upstream that reads the first answers another question."""
    rig, upstream = odd
    address, sent = f"{rig.base}/openai/v1/chat/completions", {"authorization": "Bearer sk-caller"}
    for _ in range(2):
        upstream.says(completion("Phone 555."))
        reply = rig.http.post(address, content=ambiguous, headers=sent)
        assert reply.json()["choices"][0]["message"]["content"] == "Phone 555."
        assert cache_status(reply)["fwd"] == "miss"
        assert "stored" not in cache_status(reply)
    upstream.says(completion("As it is."))
    for outcome in ("fwd", "hit"):
        plain = rig.chat("plain")
        assert plain.json()["choices"][0]["message"]["content"] == "As it is."
        assert outcome in cache_status(plain)
    assert upstream.call_count == 3


_ODD_FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("chat/completions", {"tools": [{"type": ["function"]}]}),
    ("chat/completions", {"tools": [{"type": {}}], "modalities": 5, "audio": []}),
    ("chat/completions", {"stream_options": {"a": 10**30}, "metadata": [10**30]}),
    ("chat/completions", {"messages": [{"role": "user", "content": [{"type": ["text"]}]}]}),
    ("responses", {"include": 5}),
    ("responses", {"tools": [{"type": ["function"]}]}),
    ("responses", {"user": 10**30, "prompt_cache_options": 7}),
    ("responses", {"input": [{"role": "user", "content": [{"type": {}, "text": "a"}]}]}),
    ("embeddings", {"encoding_format": {}}),
    ("embeddings", {"user": 10**30, "input": [[10**30]]}),
]


@pytest.mark.parametrize(("route", "fields"), _ODD_FIELDS)
def test_a_request_with_fields_of_other_types_than_theirs_is_for_the_provider_to_judge(
    odd: tuple[Rig, Scripted], capfd: pytest.CaptureFixture[str], route: str, fields: Any
) -> None:
    rig, upstream = odd
    upstream.says(b'{"error":{"message":"no such type"}}', status="400 Bad Request")
    body: dict[str, Any] = (
        {"model": "m", "input": "a"} if route != "chat/completions" else chat("a")
    )
    reply = rig.post(f"/openai/v1/{route}", body | fields)
    assert (reply.status_code, reply.json()["error"]["message"]) == (400, "no such type")
    assert "failed" not in capfd.readouterr().out


def test_what_could_not_be_given_again_as_a_stream_is_not_stored(
    odd: tuple[Rig, Scripted],
) -> None:
    """An answer that would do for a plain call, but could not be replayed to a client that streams."""
    rig, upstream = odd
    body = json.dumps(
        {
            "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": 1}],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    ).encode()  # fmt: skip
    upstream.says(body)
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a number"}]}
    for _ in range(2):
        reply = rig.post("/anthropic/v1/messages", asked)
        assert (reply.status_code, reply.content) == (200, body)
        assert "stored" not in cache_status(reply)
    assert upstream.call_count == 2
    assert rig.metric("surehit_proxy_not_stored_total", reason="malformed") == 2
