"""The hot path: `POST /v1/lookup` and `POST /v1/store` as a plain ASGI handler in front of the FastAPI application.

FastAPI's own route machinery costs as much as the whole exact hit (../DECISIONS.md). The same routes are declared in
FastAPI with the same functions, for the documentation and for applications that mount only that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import structlog
from msgspec import UNSET, Meta, Raw, UnsetType

from service import cache_control as cache_controls
from service import key, lines
from service.api import problem
from service.ask import BOTH, Ask
from service.auth import Keys
from service.cache import Cache, Caller
from service.errors import InvalidRequest, MalformedBody, SurehitError, TooLarge
from service.field_faults import invalid
from service.lookup import Asked, Begun, begin, lookup
from service.metrics import Metrics
from service.outcome import Hit, Miss, Stored, Tier
from service.proxy.serve import PREFIXES
from service.store import Put, check_scope, store

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("surehit.http")


class LookupBody(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /v1/lookup`: a request, or a prompt in its place."""

    line: str
    request: Raw | UnsetType = UNSET
    prompt: str | None = None
    scope: str | None = None
    wait_ms: Annotated[int, Meta(ge=0, le=30_000)] = 0
    tiers: list[Literal["exact", "semantic"]] | None = None


class StoreBody(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /v1/store`: an answer, for a lookup that missed or for a request."""

    response: Raw
    lookup_id: str | None = None
    line: str | None = None
    request: Raw | UnsetType = UNSET
    prompt: str | None = None
    scope: str | None = None
    ttl_s: float | None = None
    tags: list[str] = []


_decode_lookup = msgspec.json.Decoder(LookupBody).decode
_decode_store = msgspec.json.Decoder(StoreBody).decode

REMEMBERED, REMEMBERED_BYTES = 1024, 4096
"""Requests whose reading is kept, the longest kept one leaves first; and the longest body among them."""

_TIERS: dict[int, tuple[Tier, ...]] = {1: ("exact",), 2: BOTH}


def parse_lookup(body: bytes, cache_control: str | None = None) -> Ask:
    """A lookup from its JSON text and its `Cache-Control` request header (RFC 9111). Raises SurehitError."""
    data = _parse(_decode_lookup, body)
    request = _request(data.request, data.prompt)
    tiers = BOTH
    if data.tiers is not None:
        if data.tiers not in (["exact"], ["exact", "semantic"]):
            raise InvalidRequest.field("tiers", 'must be ["exact"] or ["exact", "semantic"]')
        tiers = _TIERS[len(data.tiers)]
    control = cache_controls.read(cache_control)
    lines.check_line(data.line)
    return Ask(
        line=data.line,
        request=request,
        scope=check_scope(data.scope or ""),
        tiers=tiers,
        wait_ms=data.wait_ms,
        max_age_s=control.max_age_s,
        min_fresh_s=control.min_fresh_s,
        may_serve=not control.no_cache,
        may_record=not control.no_store,
    )


def parse_store(body: bytes) -> Put:
    """A store from its JSON text. Raises SurehitError."""
    data = _parse(_decode_store, body)
    if data.lookup_id is not None:
        for name in ("line", "request", "prompt", "scope"):
            if getattr(data, name) not in (None, UNSET):
                raise InvalidRequest.field(
                    name, "must be absent when lookup_id is given: the lookup has it"
                )
        return Put(bytes(data.response), data.lookup_id, ttl_s=data.ttl_s, tags=tuple(data.tags))
    if data.line is None:
        raise InvalidRequest.field("line", "is required (or a lookup_id)")
    return Put(
        bytes(data.response),
        line=lines.check_line(data.line),
        scope=check_scope(data.scope or ""),
        request=_request(data.request, data.prompt),
        ttl_s=data.ttl_s,
        tags=tuple(data.tags),
    )


def _parse(decode: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise invalid(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedBody(f"body: {error}") from error
    except RecursionError as error:
        raise MalformedBody("body: nested too deeply") from error


def _request(request: Raw | UnsetType, prompt: str | None) -> Any:
    if (request is UNSET) == (prompt is None):
        raise InvalidRequest.field("request", "give either request or prompt")
    if prompt is not None:
        return {"messages": [{"role": "user", "content": prompt}]}
    return key.parse(memoryview(request))  # type: ignore[arg-type]


class Reply(NamedTuple):
    """A whole reply; `headers` lacks the content-length."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


_HERE = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?")


class CrossSite(SurehitError):
    """A web site's page in somebody's browser, where a service without keys trusts whoever reaches it."""

    status, code, title = 403, "cross-site", "Cross-site request"


def _foreign_site(scope: Scope) -> str | None:
    """The web site whose page sends the request; None for programs, and for pages of this machine."""
    origin = next((v.decode("latin-1") for n, v in scope["headers"] if n == b"origin"), "")
    scheme, _, site = origin.partition("://")
    return None if scheme not in ("http", "https") or _HERE.fullmatch(site) else site


class HotPath:
    """ASGI: answers the two hot routes and hands everything else on.

    `begin` is the same for a server that has the whole request already: what needs no waiting is answered at once,
    without a task.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        cache: Callable[[], Cache],
        keys: Callable[[], Keys],
        metrics: Metrics,
        max_body: int,
        proxy: Callable[[], ASGIApp] | None = None,
    ) -> None:
        self._proxy = proxy
        self._app = app
        self._cache = cache
        self._keys = keys
        self._metrics = metrics
        self._max_body = max_body
        self._recent: dict[tuple[bytes | None, str | None, bytes], Asked] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route by path; only POST is ours."""
        if self.answers(scope):
            try:
                body = await read_body(receive, self._max_body)
            except SurehitError as error:
                await send_reply(send, _refusal(error))
                return
            found = self.begin(scope, body)
            await send_reply(send, found if isinstance(found, Reply) else await found)
            return
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            try:
                await self._refuse_foreign(_foreign_site(scope))
            except SurehitError as error:
                await send_reply(send, _refusal(error))
                return
        if scope["type"] == "http" and self._proxy and scope["path"].startswith(PREFIXES):
            await self._proxy()(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            try:
                body = await read_body(receive, self._max_body)
            except SurehitError as error:
                await send_reply(send, _refusal(error))
                return
            scope, receive = _as_json(scope, body), _replay(body)
        await self._app(scope, receive, send)

    def answers(self, scope: Scope) -> bool:
        """True for requests of the two hot routes."""
        return scope["type"] == "http" and scope["path"] in _ROUTES and scope["method"] == "POST"

    @property
    def answers_at_once(self) -> bool:
        """True where `begin` may have a hit as its result."""
        return self._cache().db.at_once is not None

    def begin(self, scope: Scope, body: bytes) -> Reply | Coroutine[Any, Any, Reply]:
        """The reply to a request of a hot route, or the rest of the work for it, to be awaited. Never raises."""
        path = scope["path"]
        authorization = cache_control = origin = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value.decode("latin-1")
            elif name == b"cache-control":
                more = value.decode("latin-1")
                cache_control = more if cache_control is None else f"{cache_control}, {more}"
            elif name == b"origin":
                origin = value
        try:
            if origin is not None and (site := _foreign_site(scope)) is not None:
                return self._rest(path, self._begin_foreign(site, scope, body))
            if len(body) > self._max_body:
                raise _too_large(self._max_body)
            if path == "/v1/store":
                return self._rest(path, self._store(authorization, body))
            began = time.perf_counter()
            caller = self._keys().remembered(authorization)
            if caller is None:
                return self._rest(path, self._unknown(authorization, body, cache_control, began))
            sent = (caller.key_hash, cache_control, body)
            asked = self._recent.get(sent)
            if asked is None:
                asked = Asked(caller, parse_lookup(body, cache_control))
            found = begin(self._cache(), asked)
            if isinstance(found, Hit):
                self._remember(sent, asked)
                return self._lookup_reply(found, began)
            return self._rest(path, self._lookup(caller, asked.ask, found, began))
        except SurehitError as error:
            return _refusal(error)
        except Exception:
            return _crash(path)

    async def _refuse_foreign(self, site: str | None) -> None:
        """Without keys, whoever reaches the port is trusted; a page of some web site in a browser here must not be.

        Browsers name the site of every request that could change something. With keys such a page has none to send.
        """
        if site is not None and not await self._keys().exist():
            raise CrossSite(f"a page of {site} may not use a service without API keys")

    async def _begin_foreign(self, site: str, scope: Scope, body: bytes) -> Reply:
        await self._refuse_foreign(site)
        headers = [header for header in scope["headers"] if header[0] != b"origin"]
        found = self.begin({**scope, "headers": headers}, body)
        return found if isinstance(found, Reply) else await found

    def _remember(self, sent: tuple[bytes | None, str | None, bytes], asked: Asked) -> None:
        """Requests that are sent again and again, byte for byte, are read once; their answers are read every time."""
        if sent in self._recent or len(sent[2]) > REMEMBERED_BYTES:
            return
        if len(self._recent) >= REMEMBERED:
            del self._recent[next(iter(self._recent))]
        self._recent[sent] = asked

    async def _rest(self, path: str, work: Coroutine[Any, Any, Reply]) -> Reply:
        try:
            return await work
        except SurehitError as error:
            return _refusal(error)
        except Exception:
            return _crash(path)

    async def _unknown(
        self, authorization: str | None, body: bytes, cache_control: str | None, began: float
    ) -> Reply:
        """A lookup whose caller is not remembered: who it is must be read first."""
        # the lookup's own read proves that the key is good
        caller = await self._keys().caller(authorization, verify=False)
        return await self._lookup(caller, parse_lookup(body, cache_control), None, began)

    async def _lookup(self, caller: Caller, ask: Ask, begun: Begun | None, began: float) -> Reply:
        return self._lookup_reply(await lookup(self._cache(), caller, ask, begun), began)

    def _lookup_reply(self, outcome: Hit | Miss, began: float) -> Reply:
        kind = "miss" if isinstance(outcome, Miss) else _KINDS[outcome.tier]
        self._metrics.time(kind, time.perf_counter() - began)
        return Reply(200, lookup_headers(outcome), outcome.body())

    async def _store(self, authorization: str | None, body: bytes) -> Reply:
        began = time.perf_counter()
        # a store by lookup id reads no key, so it is verified here
        caller = await self._keys().caller(authorization)
        stored: Stored = await store(self._cache(), caller, parse_store(body))
        self._metrics.time("store", time.perf_counter() - began)
        return Reply(201, list(_JSON), stored.body())


_ROUTES = frozenset({"/v1/lookup", "/v1/store"})
_KINDS = {"exact": "exact_hit", "semantic": "semantic_hit"}
_JSON = ((b"content-type", b"application/json"), (b"cache-control", b"private, no-store"))


def lookup_headers(outcome: Hit | Miss) -> list[tuple[bytes, bytes]]:
    """RFC 9211 `Cache-Status`, RFC 9111 `Age`, and the lookup's id."""
    headers = [
        *_JSON,
        (b"cache-status", outcome.cache_status().encode()),
        (b"x-surehit-lookup-id", outcome.lookup_id.encode()),
    ]
    if isinstance(outcome, Hit):
        headers.append((b"age", str(outcome.age_s).encode()))
    return headers


def _refusal(error: SurehitError) -> Reply:
    return Reply(error.status, problem.headers(error), problem.body(error))


def _crash(path: str) -> Reply:
    log.exception("request_failed", path=path)
    return _refusal(problem.Internal())


async def send_reply(send: Send, reply: Reply) -> None:
    """One reply over ASGI."""
    length = (b"content-length", b"%d" % len(reply.body))
    await send(
        {
            "type": "http.response.start",
            "status": reply.status,
            "headers": [*reply.headers, length],
        }
    )
    await send({"type": "http.response.body", "body": reply.body})


def _as_json(scope: Scope, body: bytes) -> Scope:
    """The request as JSON where it is an object that says it is a form, as `curl -d` does unless told otherwise."""
    sent = (b"content-type", b"application/x-www-form-urlencoded")
    if sent not in scope["headers"] or body.lstrip()[:1] != b"{":
        return scope
    headers = [header for header in scope["headers"] if header != sent]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def _replay(body: bytes) -> Receive:
    """A `receive` that hands out a body which was read already."""
    messages: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]

    async def receive() -> MutableMapping[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole request body; raises TooLarge beyond the limit."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    parts = [body]
    size = len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise MalformedBody("body: the client went away")
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"body: at most {limit} bytes")
