"""`surehit fake-upstream`: a provider for demo, tests and docs that speaks both wire forms and
fails on demand.

    POST /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/messages     GET /v1/models
    GET /__calls      what was called, per path and per text, and who left early; DELETE forgets it
    POST /__faults    a `Fault` (or a list) for the next calls; GET shows, DELETE drops them
    X-Fake-Fault      header: a `Fault` for this call alone

Any key is good except one that ends in `bad`. Nothing leaves this process.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from service.fake import chat, messages, responses
from service.fake.answers import Answer, Question, answer, tokens, vector
from service.fake.errors import chunk, error, error_chunk
from service.fake.paced import PacedStream, waited
from service.fake.prompt_cache import PromptCache, Segment
from service.fake.reply import Event, Reply
from service.fake.state import Call, DueFault, Fault, Upstream

_MADE_AT = 1767225600  # 2026-01-01
MODELS = ("fake-small", "fake-large", "fake-embedding")


@dataclass(frozen=True)
class Form:
    """One wire form: how to read a question and its prompt, and how to write the answer."""

    question: Callable[[dict[str, Any]], Question]
    prompt: Callable[[dict[str, Any]], list[Segment]]
    body: Callable[[Reply], dict[str, Any]]
    events: Callable[[Reply], Iterator[Event]]
    counts_at_marks: bool = False


_FORMS = {
    "/v1/chat/completions": Form(
        chat.read_question, chat.read_prompt, chat.write_body, chat.write_events
    ),
    "/v1/responses": Form(
        responses.read_question,
        responses.read_prompt,
        responses.write_body,
        responses.write_events,
    ),
    "/v1/messages": Form(
        messages.read_question,
        messages.read_prompt,
        messages.write_body,
        messages.write_events,
        counts_at_marks=True,
    ),
}


def create_app(
    *,
    latency_s: float = 0.0,
    chunk_s: float = 0.0,
    prompt_cache_least_tokens: int = 1024,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """The app. `latency_s` is waited before every answer, `chunk_s` before every chunk."""
    cache = PromptCache(clock, least_tokens=prompt_cache_least_tokens)
    upstream = Upstream(clock, cache, latency_s, chunk_s)

    async def generate(request: Request) -> Response:
        return await _generate(upstream, request, _FORMS[request.url.path])

    async def embed(request: Request) -> Response:
        return await _embed(upstream, request)

    async def calls(request: Request) -> Response:
        return _calls(upstream, forget=request.method == "DELETE")

    async def faults(request: Request) -> Response:
        return await _faults(upstream, request)

    async def models(request: Request) -> Response:
        return _models(request)

    async def unknown(request: Request, problem: Exception) -> Response:
        status = getattr(problem, "status_code", 404)
        return error(request, status, f"No such thing: {request.method} {request.url.path}")

    routes = [Route(path, generate, methods=["POST"]) for path in _FORMS]
    routes += [
        Route("/v1/embeddings", embed, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
        Route("/__calls", calls, methods=["GET", "DELETE"]),
        Route("/__faults", faults, methods=["GET", "POST", "DELETE"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: unknown, 405: unknown})


def run(
    host: str = "127.0.0.1", port: int = 8090, *, latency_s: float = 0.0, chunk_s: float = 0.0
) -> None:
    """Serve until interrupted."""
    app = create_app(latency_s=latency_s, chunk_s=chunk_s)
    uvicorn.run(app, host=host, port=port, log_level="warning")


@contextlib.contextmanager
def running(app: Any, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve an ASGI app from a thread of this process; gives its address. Port 0 takes a free
    one."""
    with socket.create_server((host, port)) as listener:
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError(f"the app on {host} did not start")
            time.sleep(0.005)
        try:
            yield "http://{}:{}".format(*listener.getsockname()[:2])
        finally:
            server.should_exit = True
            thread.join(timeout=5)


async def _generate(upstream: Upstream, request: Request, form: Form) -> Response:
    body, refused = await _accepted(request)
    if refused is not None:
        return refused
    try:
        question = form.question(body)
        prompt = form.prompt(body)
    except (KeyError, IndexError, TypeError, AttributeError):
        return error(request, 400, "The request has no messages, no model or no input.")
    if request.url.path == "/v1/messages" and "max_tokens" not in body:
        return error(request, 400, "max_tokens: Field required")
    call = Call(request.url.path, question.text, body.get("stream") is True, _visible(request))
    fault, refused = await _admitted(upstream, request, call)
    if refused is not None:
        return refused
    owner = f"{body['model']}\0{request.headers.get('authorization', '')}"
    cache = upstream.prompt_cache
    reply = Reply(
        body=body,
        answer=_spoilt(answer(question), fault),
        counted=(cache.at_marks if form.counts_at_marks else cache.by_itself)(owner, prompt),
        id=uuid.uuid4().hex,
        now=int(upstream.clock()),
        cut=fault.finish_reason == "length",
    )
    headers = {"x-request-id": f"req_{reply.id}", "request-id": f"req_{reply.id}"}
    if not call.is_stream:
        return JSONResponse(form.body(reply), headers=headers)
    chunks = [chunk(name, data) for name, data in form.events(reply)]
    if form.body is chat.write_body:
        chunks.append(b"data: [DONE]\n\n")
    if fault.no_terminal:
        del chunks[-1:]
    return PacedStream(
        request,
        call,
        chunks,
        fault=fault,
        chunk_s=upstream.chunk_s + fault.chunk_s,
        error_chunk=error_chunk(request),
        headers=headers,
    )


async def _embed(upstream: Upstream, request: Request) -> Response:
    body, refused = await _accepted(request)
    if refused is not None:
        return refused
    given = body.get("input")
    texts = given if isinstance(given, list) and not _are_tokens(given) else [given]
    if not given or "model" not in body:
        return error(request, 400, "The request has no input or no model.")
    call = Call(request.url.path, str(texts[-1]), is_stream=False, headers=_visible(request))
    _, refused = await _admitted(upstream, request, call)
    if refused is not None:
        return refused
    data = []
    for at, item in enumerate(texts):
        values = np.asarray(vector(str(item), body.get("dimensions") or 64), dtype="<f4")
        as_base64 = body.get("encoding_format") == "base64"
        embedding = base64.b64encode(values.tobytes()).decode() if as_base64 else values.tolist()
        data.append({"object": "embedding", "index": at, "embedding": embedding})
    spent = sum(len(tokens(str(item))) for item in texts)
    usage = {"prompt_tokens": spent, "total_tokens": spent}
    return JSONResponse({"object": "list", "data": data, "model": body["model"], "usage": usage})


async def _admitted(
    upstream: Upstream, request: Request, call: Call
) -> tuple[Fault, Response | None]:
    """Count the call, wait, and give the fault it meets; with a reply if it ends right here."""
    upstream.calls.append(call)
    try:
        fault = upstream.fault_for(call.text, request.headers.get("x-fake-fault"))
    except msgspec.DecodeError as problem:
        return Fault(), error(request, 400, f"X-Fake-Fault: {problem}")
    if not await waited(request, upstream.latency_s + fault.first_byte_s):
        call.is_aborted = True
        return fault, Response(status_code=499)
    call.status = fault.status or 200
    if fault.status is not None or fault.error_in_200:
        return fault, error(request, call.status, retry_after_s=fault.retry_after_s)
    return fault, None


async def _accepted(request: Request) -> tuple[dict[str, Any], Response | None]:
    """The body, and the refusal if the key or the body is not good."""
    key = request.headers.get("x-api-key") or request.headers.get("authorization", "")
    if not key or key.endswith("bad"):
        return {}, error(request, 401, "Incorrect API key provided.")
    try:
        body = msgspec.json.decode(await request.body())
    except msgspec.DecodeError as problem:
        return {}, error(request, 400, f"The body is not JSON: {problem}")
    if not isinstance(body, dict):
        return {}, error(request, 400, "The body must be a JSON object.")
    return body, None


def _spoilt(answer: Answer, fault: Fault) -> Answer:
    if fault.empty:
        return Answer()
    if fault.finish_reason == "length":
        return Answer(text=answer.text[: len(answer.text) // 2], reasoning=answer.reasoning)
    return answer


def _calls(upstream: Upstream, *, forget: bool) -> Response:
    if forget:
        upstream.calls.clear()
        upstream.prompt_cache.clear()
        return Response(status_code=204)
    calls = upstream.calls
    return JSONResponse(
        {
            "total": len(calls),
            "by_path": Counter(call.path for call in calls),
            "by_text": Counter(call.text for call in calls),
            "aborted": sum(call.is_aborted for call in calls),
            "calls": [vars(call) for call in calls],
        }
    )


async def _faults(upstream: Upstream, request: Request) -> Response:
    if request.method == "DELETE":
        upstream.faults.clear()
        return Response(status_code=204)
    if request.method == "POST":
        try:
            given = msgspec.json.decode(await request.body(), type=list[Fault] | Fault)
        except msgspec.DecodeError as problem:
            return JSONResponse({"detail": str(problem)}, status_code=422)
        new = given if isinstance(given, list) else [given]
        upstream.faults += [DueFault(fault, fault.times) for fault in new]
    due = [{**msgspec.to_builtins(due.fault), "times": due.times} for due in upstream.faults]
    return JSONResponse(due)


def _models(request: Request) -> Response:
    if "anthropic-version" in request.headers:
        made = "2026-01-01T00:00:00Z"
        data = [{"type": "model", "id": m, "display_name": m, "created_at": made} for m in MODELS]
        ends = {"first_id": MODELS[0], "last_id": MODELS[-1]}
        return JSONResponse({"data": data, "has_more": False, **ends})
    models = [{"id": m, "object": "model", "created": _MADE_AT, "owned_by": "fake"} for m in MODELS]
    return JSONResponse({"object": "list", "data": models})


def _visible(request: Request) -> dict[str, str]:
    """The headers of a call; of keys only the end, in case a real one came here by mistake."""
    keys = ("authorization", "x-api-key")
    return {k: f"…{v[-4:]}" if k in keys else v for k, v in request.headers.items()}


def _are_tokens(given: list[Any]) -> bool:
    return bool(given) and all(isinstance(item, int) for item in given)
