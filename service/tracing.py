"""OpenTelemetry: a span per HTTP request, with what the cache said of it (extra `otel`).

Off unless `SUREHIT_OTLP_ENDPOINT` is set, and then it costs nothing. A caller's trace is continued. No span bears a
prompt, an answer, a query string or a key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from service.errors import Unavailable

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_SPAN = "surehit.span"
_WITH_QUERY = ("http.url", "http.target", "url.full", "url.query")


def traced(app: ASGIApp, *, endpoint: str) -> ASGIApp:
    """The application with a span around each request, sent in batches to an OTLP/HTTP collector.

    Raises Unavailable where the extra is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise Unavailable(
            "SUREHIT_OTLP_ENDPOINT: install the extra `otel` (pip install 'surehit[otel]')"
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "surehit"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    return with_spans(app, provider)


def with_spans(app: ASGIApp, provider: Any) -> ASGIApp:
    """The application with its spans given to a tracer provider."""
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

    made: ASGIApp = OpenTelemetryMiddleware(
        app,
        tracer_provider=provider,
        server_request_hook=_name,
        client_response_hook=_note_outcome,
        exclude_spans=["receive"],
    )
    return made


def _name(span: Any, scope: MutableMapping[str, Any]) -> None:
    """Method and path; a query string may hold text that somebody searches for."""
    path = scope.get("path", "")
    scope[_SPAN] = span
    span.update_name(f"{scope.get('method', '')} {path}")
    for name in _WITH_QUERY:
        if name in (getattr(span, "attributes", None) or {}):
            span.set_attribute(name, "" if name == "url.query" else path)


def _note_outcome(
    span: Any, scope: MutableMapping[str, Any], message: MutableMapping[str, Any]
) -> None:
    """The head of the reply is being sent: what its Cache-Status says goes on the request's own span."""
    del span  # the span of the sending
    for name, value in message.get("headers", ()):
        if name == b"cache-status":
            scope[_SPAN].set_attribute("surehit.cache_status", value.decode("latin-1"))
