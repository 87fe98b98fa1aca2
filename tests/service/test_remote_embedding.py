"""A shared embedding server over real HTTP: equal vectors, outages, time limits, a model exchanged behind the URL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from evaluation.desk import desk_beside
from index.embedding import catalog, remote
from index.embedding.remote import RemoteEmbedder, estimated_tokens
from index.testing import HashEmbedder
from index.types import EmbedderUnavailable, TextRefused, TextTooLong
from service import doctor, embed_server
from service.fake_upstream import running as serving
from service.maintenance import Maintenance
from service.storage.models import Entry, RemoteModel
from tests.harness import REAL_MODELS, running
from tests.service.ways import rows


class Server:
    """An embedding server whose model and mood can be changed."""

    def __init__(self) -> None:
        self.model = HashEmbedder(64)
        self.status = 200
        self.delay_s = 0.0
        self.jitter = 0.0
        self.calls: list[list[str]] = []
        self.answering = 0
        self.app = Starlette(routes=[Route("/v1/embeddings", self.answer, methods=["POST"])])

    def rest(self) -> None:
        """Wait until nothing is being answered any more."""
        while self.answering:
            time.sleep(0.05)

    async def answer(self, request: Request) -> Response:
        asked = orjson.loads(await request.body())
        self.calls.append(asked["input"])
        self.answering += 1
        await asyncio.sleep(self.delay_s)
        self.answering -= 1
        if self.status != 200:
            return JSONResponse({"error": {"message": "no"}}, self.status)
        vectors = self.model.embed(asked["input"])
        vectors = vectors + self.jitter * np.random.default_rng().standard_normal(vectors.shape)
        data = [
            {"object": "embedding", "index": n, "embedding": v.tolist()}
            for n, v in enumerate(vectors)
        ]
        return JSONResponse({"object": "list", "data": data[::-1]})


@pytest.fixture
def server() -> Any:
    made = Server()
    with serving(made.app) as url:
        made.url = url  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def embedder(server: Any) -> Iterator[Callable[..., RemoteEmbedder]]:
    """Makes connected embedders, and closes them."""
    made: list[RemoteEmbedder] = []

    def connect(url: str = "", *, model: str = "m", **more: Any) -> RemoteEmbedder:
        made.append(RemoteEmbedder(url or server.url, model=model, **more))
        made[-1].probe()
        made[-1].identify(1)
        return made[-1]

    yield connect
    for one in made:
        one.close()


def test_vectors_come_in_the_order_of_the_texts(server: Any, embedder: Any) -> None:
    """Whatever order the server lists them in."""
    found = embedder().embed(["one", "two", "three"])
    assert np.allclose(found, server.model.embed(["one", "two", "three"]), atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/embeddings"])
def test_any_spelling_of_the_address_will_do(server: Any, embedder: Any, suffix: str) -> None:
    assert embedder(server.url + suffix).probe().shape == (len(remote.PROBES), 64)


def test_another_number_of_dimensions_than_declared_is_refused(embedder: Any) -> None:
    with pytest.raises(EmbedderUnavailable, match="64 dimensions, 128 were declared"):
        embedder(dimensions=128)


def test_text_beyond_the_models_limit_is_not_sent(server: Any, embedder: Any) -> None:
    """Many servers cut it without a word."""
    made = embedder(max_tokens=16)
    server.calls.clear()
    with pytest.raises(TextTooLong):
        made.embed(["fine", "word " * 20])
    with pytest.raises(TextRefused):
        made.embed([" "])
    assert server.calls == []
    assert estimated_tokens("超文本传输") == 7
    assert estimated_tokens("reset my password") == 2 + 2 + 1 + 3


def test_a_changed_model_is_noticed_and_its_vectors_are_not_used(
    server: Any, embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = embedder()
    server.jitter = 1e-5  # another GPU, another batch: the same model
    monkeypatch.setattr(remote, "VERIFY_S", 0.0)
    made.embed(["one"])
    server.jitter = 0.0
    server.model = HashEmbedder(64, name="other")
    server.model._bag = lambda text: HashEmbedder._bag(server.model, text + "!")  # type: ignore[method-assign]
    with pytest.raises(EmbedderUnavailable, match="another than before"):
        made.embed(["one"])
    assert made.has_changed
    with pytest.raises(EmbedderUnavailable, match="another than before"):
        made.embed(["two"])


def test_the_probes_go_along_now_and_then_only(server: Any, embedder: Any) -> None:
    made = embedder()
    server.calls.clear()
    for n in range(3):
        made.embed([f"text {n}"])
    assert server.calls == [["text 0"], ["text 1"], ["text 2"]]
    made._verified -= remote.VERIFY_S + 1
    made.embed(["late"])
    made.embed(["later"])
    assert server.calls[3:] == [["late", *remote.PROBES], ["later"]]


async def test_a_service_embeds_through_the_server(
    database_url: str, tmp_path: Path, server: Any
) -> None:
    """Two workers give one fingerprint, texts that wait go together, and an outage is a miss inside the budget."""
    settings = {"embed_url": server.url, "embed_model": "m", "embed_budget_ms": 1000}
    async with (
        running(database_url, tmp_path / "a", embedder=REAL_MODELS, **settings) as a,
        running(database_url, tmp_path / "b", embedder=REAL_MODELS, **settings) as b,
    ):
        await a.line()
        await a.settled()
        await b.settled()
        await a.store("Where is the manual", "yes")
        found = await b.lookup("Where is the manual?")
        assert (found["tier"], found["response"]) == ("semantic", "yes")
        assert await rows(a, Entry.fingerprint) == [("remote/m/64/1/n1",)]
        server.calls.clear()
        server.delay_s = 0.1  # texts wait meanwhile
        await asyncio.gather(*(a.lookup(f"Something else of kind {n}") for n in range(40)))
        assert len(server.calls) < 30
        server.status, server.delay_s = 503, 0.0
        down = await b.lookup("Where might the manual be?")
        assert down["reason"] == "degraded"
        server.status, server.delay_s = 200, 6.0
        began = time.monotonic()
        slow = await b.lookup("Where could the manual be?")
        assert slow["reason"] == "degraded"
        assert time.monotonic() - began < 5
        assert (await b.lookup("Where is the manual"))["tier"] == "exact"
        await asyncio.to_thread(server.rest)


@pytest.mark.parametrize(("language", "asked_for"), [("en", "minilm"), ("zh", "e5-small")])
async def test_the_server_is_enough_where_no_model_is_installed(
    sqlite_url: str,
    tmp_path: Path,
    server: Any,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    asked_for: str,
) -> None:
    """And without `embed_model`: the server is asked for the usual model of the language, whatever is here.

    A command beside the service (`surehit tune`) names its scores' version by the same model.
    """
    monkeypatch.setattr(catalog, "OFFERS", ())
    async with running(sqlite_url, tmp_path, embedder=REAL_MODELS, embed_url=server.url) as client:
        await client.line(language=language)
        await client.store("Where is the manual", "yes")
        assert (await client.lookup("Where is the manual?"))["tier"] == "semantic"
        assert (await client.call("GET", "/readyz")).json()["semantic"] == "ready"
        cache = client.cache
        policy = await cache.policies.load("default", "faq")
        assert policy is not None
        desk = desk_beside(cache.db, cache.settings, cache.clock_ms)
        beside = await desk.fingerprint(policy)
        same, other = await desk.cosines(policy, [("a", "a"), ("a", "something else")])
        assert same is not None
        assert other is not None
        assert abs(same - 1.0) < 1e-5
        assert other < 0.99
        assert await rows(client, Entry.fingerprint) == [(beside,)]
    assert beside == f"remote/{asked_for}/64/1/n1"
    assert await asyncio.to_thread(lambda: doctor.run(cache.settings)[-1].ok)


async def test_another_model_behind_the_address_is_another_fingerprint_and_the_old_one_comes_back(
    sqlite_url: str, tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "VERIFY_S", 0.0)
    settings = {"embed_url": server.url, "embed_model": "m"}
    async with running(sqlite_url, tmp_path, embedder=REAL_MODELS, **settings) as client:
        await client.line()
        await client.store("Where is the manual", "yes")
        assert (await client.lookup("Where is the manual?"))["tier"] == "semantic"
        old, server.model = server.model, HashEmbedder(96)
        assert (await client.lookup("Where is that manual?"))["reason"] == "degraded"
        await client.settled()
        await client.lookup("Where is this manual?")  # connects anew
        await Maintenance(client.cache).once()
        assert (await client.lookup("Where is the manual?"))["tier"] == "semantic"
        assert await rows(client, Entry.fingerprint) == [("remote/m/96/1/n1",)]
        server.model = HashEmbedder(96, name="third")
        server.model._bag = lambda text: HashEmbedder._bag(server.model, text + "!")  # type: ignore[method-assign]
        await client.lookup("Where was the manual?")
        await client.lookup("Where was this manual?")
        await Maintenance(client.cache).once()
        assert await rows(client, Entry.fingerprint) == [("remote/m/96/2/n1",)]
        server.model = old
        await client.lookup("Where will the manual be?")
        await client.lookup("Where will this manual be?")
        await Maintenance(client.cache).once()
        assert await rows(client, Entry.fingerprint) == [("remote/m/64/1/n1",)]
        known = await rows(client, RemoteModel.dimensions, RemoteModel.generation)
        assert sorted(known) == [(64, 1), (96, 1), (96, 2)]


def test_the_embedding_server_gives_the_vectors_of_the_models_it_serves(
    models_dir: Path, embedder: Any
) -> None:
    """Over HTTP, to the last bit of a float32; what the model cannot read is refused."""
    from index.embedding import catalog

    app = embed_server.create_app(models_dir=models_dir, threads=1, models=["minilm"], api_key="k")
    local = catalog.load("minilm", models_dir)
    texts = ["How do I reset my password?", "where is my order"]
    with serving(app) as url:
        made = embedder(url, model="minilm", api_key="k")
        expected = np.concatenate([local.embed([text]) for text in texts])
        assert np.abs(made.embed(texts) - expected).max() < 1e-6
        with httpx2.Client(base_url=url, headers={"authorization": "Bearer k"}) as http:
            body = {"model": "minilm", "input": texts[0], "encoding_format": "base64"}
            packed = http.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
            import base64

            vector = np.frombuffer(base64.b64decode(packed), dtype="<f4")
            assert np.abs(vector - expected[0]).max() < 1e-6
            for asked, status in (
                ({"model": "minilm", "input": []}, 400),
                ({"model": "minilm", "input": [1, 2]}, 400),
                ({"model": "gpt-x", "input": "a"}, 404),
                ({"model": "minilm", "input": "word " * 400}, 400),
                ({"model": "minilm", "input": "如何申请退款"}, 400),
                ({"model": "minilm", "input": "a", "dimensions": 256}, 400),
                ({"model": "minilm", "input": "a", "dimensions": 384}, 200),
                ([], 400),
            ):
                assert http.post("/v1/embeddings", json=asked).status_code == status, asked
            refused = http.post("/v1/embeddings", json={"model": "minilm", "input": "word " * 400})
            assert refused.json()["error"]["code"] == "context_length_exceeded"
        assert httpx2.post(f"{url}/v1/embeddings", json=body).status_code == 401
