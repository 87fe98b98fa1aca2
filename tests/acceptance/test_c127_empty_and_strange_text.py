"""C-127: empty text matches anything; NUL, surrogates and odd contents raise."""

from pathlib import Path
from typing import Any

import orjson

from tests.harness import Client, chat, running

BLANK = ["", "   ", "\u200b", "\u0000", "\n\t \u2060"]
VISIBLE = ["abc\u0000def", "???", "🎉", "\u202eabc"]
SHAPES: dict[str, Any] = {
    "null content after tool calls": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ],
    "list of parts": [{"role": "user", "content": [{"type": "text", "text": "Hello parts"}]}],
    "unknown role": [{"role": "oracle", "content": "Speak"}],
    "unknown role before": [{"role": "oracle", "content": "x"}, {"role": "user", "content": "y"}],
    "number as content": [{"role": "user", "content": 7}],
    "message that is text": ["just text"],
}


async def test_c127_blank_prompts_are_neither_stored_nor_served(
    database_url: str, tmp_path: Path
) -> None:
    """Looked up they pass by; stored they are a 4xx; ordinary lookups still work."""
    async with running(database_url, tmp_path) as client:
        await _ordinary(client)
        for text in BLANK:
            for request in (chat(text), chat("", messages=[{"role": "user", "content": [
                {"type": "text", "text": text}]}])):  # fmt: skip
                found = await client.lookup(request)
                assert (found["outcome"], found["reason"]) == ("miss", "bypass"), repr(text)
                for body in (
                    {"line": "faq", "request": request, "response": "x"},
                    {"lookup_id": found["lookup_id"], "response": "x"},
                ):
                    reply = await client.call("POST", "/v1/store", body)
                    assert reply.status_code == 422, repr(text)
                    assert "blank" in reply.json()["detail"]
        await _still_ordinary(client)


async def test_c127_strange_text_comes_back_unchanged(database_url: str, tmp_path: Path) -> None:
    """NUL, marks and emoji are stored and replayed, by request and by lookup id; so are odd shapes."""
    async with running(database_url, tmp_path) as client:
        await _ordinary(client)
        requests = [chat(text) for text in VISIBLE]
        requests += [chat("", messages=messages) for messages in SHAPES.values()]
        requests += [
            chat("a question", model="m\u0000x"),
            {"input": "a\u0000b"},
            "bare \u0000 text",
        ]
        for n, request in enumerate(requests):
            answer = f"answer \u0000 {n} 🎉"
            missed = await client.lookup(request, tiers=["exact"])
            assert (missed["outcome"], missed["fill"]) == ("miss", True), request
            by_id = {"lookup_id": missed["lookup_id"], "response": answer}
            assert (await client.call("POST", "/v1/store", by_id)).status_code == 201, request
            await client.store(request, answer)
            found = await client.lookup(request)
            assert (found["tier"], found["response"]) == ("exact", answer)
        await client.settled()
        assert client.cache.journal.dropped == 0
        await _still_ordinary(client)


async def test_c127_what_is_no_text_at_all_is_a_4xx(database_url: str, tmp_path: Path) -> None:
    """Half a surrogate pair, and an empty list of messages."""
    async with running(database_url, tmp_path) as client:
        await _ordinary(client)
        bodies = [
            rb'{"line":"faq","prompt":"a \ud800 b"%s}',
            rb'{"line":"faq","request":{"messages":[{"role":"user","content":"\udc00"}]}%s}',
            rb'{"line":"faq","request":{"messages":[]}%s}',
            rb'{"line":"faq","request":null%s}',
        ]
        for body in bodies:
            for path, more in (("lookup", b""), ("store", b',"response":"x"')):
                reply = await client.call("POST", f"/v1/{path}", body % more)
                assert 400 <= reply.status_code < 500, (path, body)
                assert reply.headers["content-type"] == "application/problem+json"
                assert reply.json()["detail"]
        surrogate = rb'{"line":"faq","prompt":"q","response":"\ud800"}'
        assert (await client.call("POST", "/v1/store", surrogate)).status_code == 400
        await _still_ordinary(client)


async def _ordinary(client: Client) -> None:
    await client.line(threshold=-1.0)
    for n in range(20):
        await client.store(f"Ordinary question {n}", orjson.dumps(n).decode())


async def _still_ordinary(client: Client) -> None:
    for n in range(20):
        assert (await client.lookup(f"Ordinary question {n}"))["response"] == str(n)
    assert (await client.lookup("Ordinary question 7?")).get("tier") == "semantic"
