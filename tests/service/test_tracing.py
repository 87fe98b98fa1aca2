"""Spans: one per request, with the cache's word, in the caller's trace, without anything that somebody wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.serving import application
from service.settings import Settings
from service.tracing import with_spans
from tests.harness import running

TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_requests_leave_spans(sqlite_url: str, tmp_path: Path) -> None:
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
    kept = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    async with running(sqlite_url, tmp_path) as client:
        headers = await client.key("t1") | {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        await client.store("secret prompt", "secret answer", headers=headers)
        transport = httpx2.ASGITransport(app=with_spans(client.app, provider))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as http:
            for prompt in ("secret prompt", "unlike"):
                body = {"line": "faq", "prompt": prompt}
                reply = await http.post("/v1/lookup", json=body, headers=headers)
                assert reply.status_code == 200
            await http.get("/v1/entries?line=faq&text=secret", headers=headers)
    requests = [span for span in kept.get_finished_spans() if span.parent.is_remote]
    names = [span.name for span in requests]
    assert names == ["POST /v1/lookup", "POST /v1/lookup", "GET /v1/entries"]
    said = [span.attributes.get("surehit.cache_status") for span in requests]
    assert said[0] == "surehit; hit; detail=exact"
    assert said[1].startswith("surehit; fwd=miss")
    assert said[2] is None
    assert {f"{span.context.trace_id:032x}" for span in requests} == {TRACE}
    for span in kept.get_finished_spans():
        text = f"{span.name} {dict(span.attributes)}"
        assert "secret" not in text
        assert "sh_" not in text


def test_it_is_off_by_default(tmp_path: Path) -> None:
    plain = application(Settings(data_dir=tmp_path))
    assert type(plain).__name__ == "HotPath"
    with_it = application(Settings(data_dir=tmp_path, otlp_endpoint="http://127.0.0.1:9/v1/traces"))
    assert type(with_it).__name__ == "OpenTelemetryMiddleware"
