"""Serving an entry that has ended, where its line allows it (RFC 5861); an invalidated one is gone and never served."""

from __future__ import annotations

from typing import Literal

from service.errors import Unavailable
from service.outcome import Miss
from service.policy import Policy
from service.proxy import replies
from service.proxy.exchange import Exchange
from service.proxy.parts import Parts, book, rendered
from service.storage import entries

Why = Literal["stale-while-revalidate", "stale-if-error"]


async def serve_stale(
    parts: Parts, exchange: Exchange, policy: Policy, exact_key: bytes, miss: Miss, *, why: Why
) -> bool:
    """Reply with the ended entry; False when the line, the caller or the time that has passed forbids it."""
    config = policy.config
    window_s = (
        config.stale_if_error_s if why == "stale-if-error" else config.stale_while_revalidate_s
    )
    if not window_s or not exchange.controls.may_serve:
        return False
    now = parts.cache.clock_ms()
    try:
        row = await entries.stale(
            parts.cache.db,
            policy.tenant,
            key=exact_key,
            now=now,
            expired_after=now - round(window_s * 1000),
        )
        if row is None or not exchange.controls.takes(row[2], row[3], now):
            return False
        found = rendered(parts, exchange, bytes(row[1]))
    except (Unavailable, replies.NotReplayable):
        return False
    headers = replies.stale_headers(exchange.provider, row, miss, found, now_ms=now, why=why)
    await exchange.out.whole(200, headers, found.body)
    book(parts, exchange, policy.tenant, "exact", found.answer)
    return True
