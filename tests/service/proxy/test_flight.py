"""The flight by itself: every reader gets every byte, whoever comes late or leaves early."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.proxy import flight as module
from service.proxy.flight import Flight, Flights, Head, Reader

HEAD = Head(200, [(b"content-type", b"text/event-stream")])
KEY = ("t", b"k", 0)


async def read_all(reader: Reader) -> bytes:
    """Everything until the end."""
    found = b""
    while part := await reader.read():
        found += part
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=9), max_size=12),
    st.lists(st.integers(0, 12), min_size=1, max_size=6),
)
def test_all_readers_get_all_bytes(chunks: list[bytes], joins: list[int]) -> None:
    """Whenever they join."""

    async def scene() -> list[bytes]:
        found = Flight(b"")
        readers = []
        for at in range(len(chunks) + 1):
            readers += [asyncio.create_task(read_all(found.join())) for j in joins if j == at]
            if at < len(chunks):
                await found.add(chunks[at])
                await asyncio.sleep(0)
        readers += [asyncio.create_task(read_all(found.join())) for j in joins if j > len(chunks)]
        found.end()
        return await asyncio.gather(*readers)

    assert asyncio.run(scene()) == [b"".join(chunks)] * len(joins)


def test_long_answer_is_read_at_the_pace_of_the_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the buffer's limit nobody can join any more, and nothing is lost or kept."""
    monkeypatch.setattr(module, "MAX_BUFFER", 100)

    async def scene() -> None:
        flights, found = Flights(), Flight(b"")
        flights.lead(KEY, found)
        quick, slow = found.join(), found.join()
        total = 0

        async def call() -> None:
            nonlocal total
            for _ in range(50):
                await found.add(b"x" * 10)
                total += 10
            found.end()

        flying = asyncio.create_task(call())
        reading = asyncio.create_task(read_all(quick))
        await asyncio.sleep(0.01)
        assert total <= 110
        assert flights.find(KEY) is None
        assert await slow.whole() is False
        assert await read_all(slow) == b"x" * 500
        assert await reading == b"x" * 500
        await flying

    asyncio.run(scene())


def test_call_is_cancelled_when_its_last_reader_leaves() -> None:
    """Also when that happens before its first step; nobody can join it then."""

    async def scene() -> list[str]:
        log: list[str] = []

        async def call() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

        flights, found = Flights(), Flight(b"")
        flights.lead(KEY, found)
        task = found.start(call())
        one, two = found.join(), found.join()
        one.leave()
        assert flights.find(KEY) is found
        two.leave()
        assert flights.find(KEY) is None
        await asyncio.gather(task, return_exceptions=True)
        return log

    assert asyncio.run(scene()) == ["cancelled"]


def test_kept_and_complete_calls_go_on_without_readers() -> None:
    """A refresh in the background, and an answer that only has to be stored."""

    async def scene() -> None:
        kept = Flight(b"")
        task = kept.start(asyncio.sleep(0.01), keep=True)  # type: ignore[arg-type]
        kept.join().leave()
        await task
        complete = Flight(b"")
        task = complete.start(asyncio.sleep(0.01))  # type: ignore[arg-type]
        complete.answer = {}
        complete.join().leave()
        await task

    asyncio.run(scene())


def test_a_refresh_that_never_ends_is_ended_once_it_is_too_long_to_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody reads it, so nobody would ever take its bytes away."""
    monkeypatch.setattr(module, "MAX_BUFFER", 1000)

    async def scene() -> Flight:
        found = Flight(b"")

        async def upstream() -> None:
            while True:
                await found.add(b"x" * 100)
                await asyncio.sleep(0)

        task = found.start(upstream(), keep=True)
        async with asyncio.timeout(5):
            await asyncio.gather(task, return_exceptions=True)
        return found

    found = asyncio.run(scene())
    assert found.is_abandoned
    assert len(found.whole_body) <= 1100


def test_waiting_for_the_head_has_an_end() -> None:
    """False when the time was up; true when head or failure is known."""

    async def scene() -> tuple[bool, bool]:
        found = Flight(b"")
        reader = found.join()
        early = await reader.head(0.01)
        found.begin(HEAD)
        return early, await reader.head(0.01)

    assert asyncio.run(scene()) == (False, True)


def test_newer_flight_takes_the_place_of_an_older_one() -> None:
    """And the end of the older one leaves the newer in its place."""
    flights, old, new = Flights(), Flight(b""), Flight(b"")
    flights.lead(KEY, old)
    flights.lead(KEY, new)
    flights.remove(KEY, old)
    assert flights.find(KEY) is new
    assert flights.is_led_here(("t", b"k", 7))
    flights.remove(KEY, new)
    assert flights.find(KEY) is None
    assert not flights.is_led_here(KEY)
