"""What the clients of `surehit bench soak` do: everything that a service can be asked, at random, told to a history."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from evaluation.bench import history
from evaluation.bench.history import UNKNOWN, Change, History, Key

LINES = ("faq", "docs")
"""`faq` changes its threshold, by hand and by decision, and its mode; `docs` its policy version."""
THRESHOLDS = (0.85, 0.9, 0.95)
SCOPES = ("", "team-a", "team-b", "kept")
"""Nothing of the last is invalidated or erased: what was stored there must be there at the end."""
TAGS = ("doc:1", "doc:2", "doc:3")
KEPT = 300
"""Prompts per client that are stored and never dropped."""
CONTEXTS = ("You answer in one sentence.", "You answer with all details.")
_QUESTIONS = (
    ("How do I reset my password?", "How can I reset my password?", "How do I reset the password?"),
    ("How do I change the delivery address?", "How can I change the delivery address?"),
    ("How do I export a report as a file?", "How can I export a report as a file?"),
    ("How do I invite a colleague to the workspace?", "How can I invite a colleague to the workspace?"),
    ("How do I connect the printer to the network?", "How can I connect the printer to the network?"),
    ("How do I turn off notifications?", "How can I turn off notifications?"),
    ("How do I merge two documents?", "How can I merge two documents?"),
    ("How do I restore a deleted folder?", "How can I restore a deleted folder?"),
)  # fmt: skip


@dataclass
class Run:
    """What all clients share."""

    history: History = field(default_factory=History)
    sent: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    """Replies that were no success, and requests without one."""
    serials: Iterator[int] = field(default_factory=itertools.count)
    rules: dict[tuple[str, str], Change] = field(default_factory=dict)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)


class Client:
    """One client of a tenant, with a connection to each worker."""

    def __init__(
        self,
        run: Run,
        http: list[httpx2.AsyncClient],
        tenant: str,
        number: int,
        rng: random.Random,
    ) -> None:
        self._run, self._http, self.tenant = run, http, tenant
        self._number, self._rng = number, rng
        self._numbers = itertools.cycle(range(KEPT))
        self._was_kept: set[Key] = set()
        self._entries: dict[str, Key] = {}
        """Entries of the newest stores, to be deleted by their id."""

    async def prepare(self) -> None:
        """Make the lines, and wait until both workers answer by meaning."""
        for line in LINES:
            await self._change(line, {"mode": "serve", "threshold": 0.9}, method="PUT")
        for http in self._http:
            ends = time.perf_counter() + 60
            asked = _QUESTIONS[0]
            while True:
                await self._store(Key(self.tenant, "", "faq", CONTEXTS[0], asked[0]), http=http)
                found = await self._lookup(
                    Key(self.tenant, "", "faq", CONTEXTS[0], asked[1]), http=http
                )
                if found is not None and found.get("tier") == "semantic":
                    break
                if time.perf_counter() > ends:
                    raise RuntimeError("no semantic hit within a minute")
                await asyncio.sleep(0.2)

    async def work(self) -> None:
        """Until the run is over."""
        acts: list[tuple[Callable[[], Any], float]] = [
            (self._look_then_store, 50),
            (lambda: self._lookup(self._any_key()), 30),
            (lambda: self._store(self._any_key(), ttl_s=self._rng.choice([None, None, 2.0])), 6),
            (self._keep, 8),
            (self._invalidate, 3),
            (self._erase, 0.3),
            (self._judge, 1.5),
        ]
        choices, weights = zip(*acts, strict=True)
        while not self._run.is_over.is_set():
            (act,) = self._rng.choices(choices, weights)
            await act()

    async def own(self, line: str, decisions: list[tuple[str, float]]) -> None:
        """Change a line again and again, as the only one who does."""
        for number in itertools.count(2):
            pause = self._rng.uniform(0.2, 1.2) if line == "faq" else self._rng.uniform(4, 8)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._run.is_over.wait(), pause)
            if self._run.is_over.is_set():
                return
            if line == "docs":
                await self._change(line, {"policy_version": str(number)})
            elif self._rng.random() < 0.4:
                await self._apply(*self._rng.choice(decisions))
            else:
                mode = self._rng.choice(["serve"] * 4 + ["shadow"])
                await self._change(line, {"mode": mode, "threshold": self._rng.choice(THRESHOLDS)})

    async def look_at_what_was_kept(self) -> None:
        """Everything in the scope that nobody clears; the checker knows what must be there."""
        for key in sorted(self._was_kept):
            await self._lookup(key)

    def _kept_key(self, line: str, n: int) -> Key:
        text = f"How do I use option {n} of client {self._number}?"
        return Key(self.tenant, "kept", line, CONTEXTS[0], text)

    def _any_key(self) -> Key:
        return Key(
            self.tenant,
            self._rng.choice(SCOPES[:-1]),
            self._rng.choice(LINES),
            self._rng.choice(CONTEXTS),
            self._rng.choice(self._rng.choice(_QUESTIONS)),
        )

    async def _look_then_store(self) -> None:
        key = self._any_key()
        began = time.perf_counter()
        found = await self._lookup(key)
        asked = (began, time.perf_counter())
        if found is not None and found.get("fill"):
            if self._rng.random() < 0.3:
                await asyncio.sleep(self._rng.uniform(0, 0.2))  # the model thinks
            await self._store(key, lookup_id=found["lookup_id"], asked=asked)

    async def _keep(self) -> None:
        key = self._kept_key(self._rng.choice(LINES), next(self._numbers))
        self._was_kept.add(key)
        await self._store(key, tags=())

    async def _lookup(self, key: Key, *, http: httpx2.AsyncClient | None = None) -> Any:
        began = time.perf_counter()
        reply = await self._send("POST", "/v1/lookup", _asked(key), "lookup", http=http)
        if reply is None:
            return None
        found = reply.json()
        tier = found.get("tier", "none")
        self._run.history.lookups.append(
            history.Lookup(
                began=began,
                ended=time.perf_counter(),
                key=key,
                tier=tier,
                reason=found.get("reason", ""),
                serial=_serial(found["response"]) if tier != "none" else None,
                score=found["score"],
                threshold=found.get("threshold"),
            )
        )
        return found

    async def _store(
        self,
        key: Key,
        *,
        ttl_s: float | None = None,
        tags: tuple[str, ...] | None = None,
        lookup_id: str | None = None,
        asked: tuple[float, float] | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        serial = next(self._run.serials)
        tags = tuple(self._rng.sample(TAGS, self._rng.randrange(2))) if tags is None else tags
        answer = {"serial": serial, "of": list(key)}
        named = _asked(key) if lookup_id is None else {"lookup_id": lookup_id}
        body = (
            named | {"response": answer, "tags": list(tags)} | ({"ttl_s": ttl_s} if ttl_s else {})
        )
        began = time.perf_counter()
        # by lookup id: 409 when an invalidation covers it, 404 when it was erased; nothing was written
        expected = (201,) if lookup_id is None else (201, 409, 404)
        reply = await self._send("POST", "/v1/store", body, "store", expected=expected, http=http)
        if reply is not None and reply.status_code != 201:
            return
        ended = UNKNOWN if reply is None else time.perf_counter()
        entry = "" if reply is None else reply.json()["entry_id"]
        self._run.history.stores.append(
            history.Store(began, ended, key, serial, tags, ttl_s, asked, entry)
        )
        if reply is not None:
            self._entries[entry] = key
            while len(self._entries) > 8:
                del self._entries[next(iter(self._entries))]

    async def _invalidate(self) -> None:
        kind = self._rng.choice(["entry", "entry", "tag", "scope"])
        if kind == "entry":
            mine = sorted(i for i, key in self._entries.items() if key.scope != "kept")
            if not mine:
                return
            entry = self._rng.choice(mine)
            await self._drop("/v1/invalidate", {"entry_id": entry}, entry=entry)
        elif kind == "tag":
            tag = self._rng.choice(TAGS)
            await self._drop("/v1/invalidate", {"tag": tag}, tag=tag)
        else:
            scope = self._rng.choice(SCOPES[1:-1])
            await self._drop("/v1/invalidate", {"scope": scope}, scope=scope)

    async def _erase(self) -> None:
        scope = self._rng.choice(SCOPES[1:-1])
        await self._drop("/v1/erase", {"scope": scope}, scope=scope, is_erasure=True)

    async def _drop(self, path: str, body: dict[str, Any], **what: Any) -> None:
        began = time.perf_counter()
        reply = await self._send("POST", path, body, path[4:])
        ended = UNKNOWN if reply is None else time.perf_counter()
        if "entry" in what and reply is not None and not reply.json()["invalidated"]:
            return  # it was gone already
        self._run.history.drops.append(history.Drop(began, ended, self.tenant, **what))

    async def _judge(self) -> None:
        """Look something up; what was found by meaning is called wrong."""
        key = self._any_key()
        found = await self._lookup(key)
        if found is None or found.get("tier") != "semantic":
            return
        body = {"lookup_id": found["lookup_id"], "verdict": "not_reusable", "reason": "other"}
        began = time.perf_counter()
        # 404: its log was erased with its scope in the meantime
        reply = await self._send("POST", "/v1/feedback", body, "feedback", expected=(200, 404))
        serial = _serial(found["response"])
        if reply is not None and reply.status_code == 200 and serial is not None:
            block = history.Block(began, time.perf_counter(), key, serial)
            self._run.history.blocks.append(block)

    async def _change(self, line: str, settings: dict[str, Any], *, method: str = "PATCH") -> None:
        await self._set(line, settings, method, f"/v1/lines/{line}", settings)

    async def _apply(self, decision_id: str, threshold: float) -> None:
        path = f"/v1/lines/faq/decisions/{decision_id}/apply"
        settings = {"mode": "serve", "threshold": threshold}
        await self._set("faq", settings, "POST", path, {"reason": "soak"})

    async def _set(
        self, line: str, settings: dict[str, Any], method: str, path: str, body: dict[str, Any]
    ) -> None:
        before = self._run.rules.get((self.tenant, line))
        began = time.perf_counter()
        reply = await self._send(method, path, body, "change")
        change = Change(
            began=began,
            ended=UNKNOWN if reply is None else time.perf_counter(),
            tenant=self.tenant,
            line=line,
            threshold=settings.get("threshold", before.threshold if before else 0.0),
            mode=settings.get("mode", before.mode if before else ""),
            version=settings.get("policy_version", before.version if before else "1"),
        )
        self._run.history.changes.append(change)
        self._run.rules[self.tenant, line] = change

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any],
        kind: str,
        *,
        expected: tuple[int, ...] = (200,),
        http: httpx2.AsyncClient | None = None,
    ) -> httpx2.Response | None:
        """The reply, None when it was none of the expected ones; on a worker at random."""
        self._run.sent[kind] += 1
        try:
            reply = await (http or self._rng.choice(self._http)).request(method, path, json=body)
        except httpx2.HTTPError as error:
            self._run.troubles[f"{kind}: {type(error).__name__}"] += 1
            return None
        if reply.status_code not in expected:
            self._run.troubles[f"{kind}: {reply.status_code}"] += 1
            return None
        return reply


def _asked(key: Key) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": key.context},
        {"role": "user", "content": key.prompt},
    ]
    return {
        "line": key.line,
        "scope": key.scope,
        "request": {"model": "soak", "messages": messages},
    }


def _serial(answer: Any) -> int | None:
    return answer.get("serial") if isinstance(answer, dict) else None
