"""Settings: `SUREHIT_…` variables or a `surehit.toml`, read once at start and handed on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, BaseModel, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class UpstreamSettings(BaseModel, frozen=True, extra="forbid"):
    """An upstream that lines may name: its address, and the key that goes there and nowhere else."""

    url: str = Field(pattern="^https?://")
    api_key: SecretStr = SecretStr("")
    provider: Literal["openai", "anthropic"] = "openai"


class Settings(BaseSettings):
    """Every setting of the service, with its unit in the name and its default."""

    model_config = SettingsConfigDict(env_prefix="SUREHIT_", extra="forbid", frozen=True)

    data_dir: Path = Field(
        default=Path("~/.local/share/surehit"),
        description="Where models, snapshots and the default database live.",
    )
    database_url: str = Field(
        default="",
        description="SQLAlchemy URL: postgresql+psycopg://… or sqlite:///…; empty means "
        "SQLite in the data directory.",
    )
    search: Literal["local", "pgvector"] = Field(
        default="local",
        description="Where vectors are searched: local (an index in each worker) or pgvector (in PostgreSQL).",
    )
    read_dsn: str = Field(
        default="",
        validation_alias=AliasChoices("read_dsn", "SUREHIT_READ_DSN", "SUREHIT_READ_DATABASE_URL"),
        description="A PostgreSQL replica, as a URL: candidates are read there, and everything that decides "
        "on the primary (optional; `SUREHIT_READ_DATABASE_URL` means the same).",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on.")
    uds: str = Field(default="", description="Unix socket to listen on instead of host and port.")
    ui_port: int = Field(default=8501, ge=0, le=65535, description="Port of the review page.")
    embed_threads: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Embedding workers; 0 means one per core that requests leave: all but one, at least one.",
    )
    huge_pages: bool = Field(
        default=True,
        description="Ask Linux to keep the service's memory in pages of 2 MB: a fifth less processor time per "
        "exact hit in a virtual machine, some memory more.",
    )
    embed_budget_ms: int = Field(
        default=1000,
        ge=1,
        le=60_000,
        description="Longest that a lookup waits for its embedding before it is a miss "
        "(`degraded`).",
    )
    verifiers_dir: Path | None = Field(
        default=None,
        description="Folder with one folder per verifier (cross-encoder) that lines may name; "
        "empty means `verifiers` in the data directory.",
    )
    verify_budget_ms: int = Field(
        default=100,
        ge=1,
        le=60_000,
        description="Longest that a lookup waits for its verifier before the candidate counts as not verified.",
    )
    database_budget_ms: int = Field(
        default=1000,
        ge=1,
        le=60_000,
        description="Longest that a lookup waits for the database before it is a miss "
        "(`degraded`).",
    )
    embed_url: str = Field(
        default="",
        pattern="^(https?://.+)?$",
        description="An OpenAI-compatible embedding server to use instead of the models here (optional), "
        "such as `surehit embed-server`.",
    )
    embed_api_key: SecretStr = Field(
        default=SecretStr(""), description="Bearer token of the embedding server."
    )
    embed_model: str = Field(
        default="",
        max_length=512,
        description="The embedding server's model for lines that name none; empty asks it for the "
        "line's own (`minilm`, `e5-small`).",
    )
    embed_dimensions: int = Field(
        default=0,
        ge=0,
        le=4000,
        description="Dimensions that the embedding server must give; 0 takes what it gives first.",
    )
    embed_max_tokens: int = Field(
        default=256,
        ge=8,
        le=100_000,
        description="Longest text that the embedding server's model reads whole.",
    )
    index_memory_mb: int = Field(
        default=2048, ge=16, description="Memory for vector indexes; beyond it the least used go."
    )
    tenant_max_entries: int = Field(
        default=0,
        ge=0,
        description="Entries of one tenant, all lines together; beyond it the least valuable go. 0: no limit.",
    )
    tenant_max_mb: int = Field(
        default=0,
        ge=0,
        description="MiB of one tenant's answers, requests and vectors; beyond it the least valuable per byte go. "
        "0: no limit.",
    )
    max_requests_per_minute: int = Field(
        default=0,
        ge=0,
        description="Requests of one API key per minute and worker, in bursts of up to ten seconds' worth; beyond it "
        "429 with Retry-After. 0: no limit.",
    )
    max_body_mb: int = Field(default=8, ge=1, le=1024, description="Largest request body.")
    fill_lease_s: int = Field(
        default=60, ge=1, le=3600, description="How long one caller may fill a missed key alone."
    )
    fill_ttl_s: int = Field(
        default=3600, ge=60, le=86_400, description="How long a lookup id may be used by store."
    )
    log_retention_days: int = Field(
        default=30, ge=1, le=3650, description="How long lookups are kept in the log."
    )
    sampling_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key of the draws that pick lookups for review; empty makes one in the data directory.",
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        description="Bearer token that reads /metrics of all tenants; a tenant's key reads its own.",
    )
    otlp_endpoint: str = Field(
        default="",
        description="OTLP/HTTP address that takes traces, as http://collector:4318/v1/traces (extra `otel`).",
    )
    access_log: bool = Field(
        default=False, description="Log each HTTP request (halves throughput)."
    )
    openai_base_url: str = Field(
        default="https://api.openai.com/v1", description="Upstream of /openai/v1."
    )
    openai_api_key: SecretStr = Field(
        default=SecretStr(""), description="Sent upstream; empty means: pass the caller's own on."
    )
    anthropic_base_url: str = Field(
        default="https://api.anthropic.com/v1", description="Upstream of /anthropic/v1."
    )
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), description="Sent upstream; empty means: pass the caller's own on."
    )
    usage_on_hit: Literal["zero", "original"] = Field(
        default="zero",
        description="Usage that a proxied hit reports: zero (nothing was spent) or original.",
    )
    upstream_timeout_s: float = Field(
        default=600.0, gt=0, le=3600, description="Longest upstream call of the proxy."
    )
    upstream_connect_s: float = Field(
        default=10.0, gt=0, le=600, description="Longest wait for a connection to an upstream."
    )
    upstreams: dict[str, UpstreamSettings] = Field(
        default={},
        description="Further upstreams that lines may name, as JSON: "
        '{"vllm": {"url": "http://gpu:8000/v1", "api_key": "…", "provider": "openai"}}.',
    )
    key_headers: str = Field(
        default="helicone-target-url,helicone-target-provider,helicone-fallbacks,x-portkey-config,"
        "x-portkey-provider,x-portkey-virtual-key,x-portkey-custom-host,x-amzn-bedrock-guardrailidentifier,"
        "x-amzn-bedrock-guardrailversion",
        pattern=r"^[a-zA-Z0-9-]*(\s*,\s*[a-zA-Z0-9-]+)*$",
        description="Headers of proxied requests that say which model answers, or how, as gateways have them: "
        "requests that differ in one never share an answer.",
    )
    collapse_wait_s: float = Field(
        default=10.0,
        ge=0,
        le=600,
        description="How long a proxied request waits for the first byte of an identical one "
        "before it calls the upstream itself.",
    )

    @field_validator("data_dir", "verifiers_dir")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser()

    @field_validator("database_url")
    @classmethod
    def _one_driver(cls, value: str) -> str:
        """URLs as PostgreSQL's own tools and hosts write them mean psycopg, the one driver there is here."""
        for written in ("postgres://", "postgresql://"):
            if value.startswith(written):
                value = "postgresql+psycopg://" + value.removeprefix(written)
        if value and not re.match(r"sqlite:///.|postgresql\+psycopg://.", value):
            raise ValueError("must begin with postgresql+psycopg:// or sqlite:///, or be empty")
        return value

    @field_validator("verifiers_dir", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return value or None

    @cached_property
    def keyed_headers(self) -> tuple[bytes, ...]:
        """Names of the headers that are part of a proxied request's key, in lower case and order."""
        names = {name.strip().lower() for name in self.key_headers.split(",")} - {""}
        return tuple(name.encode() for name in sorted(names))

    @property
    def database(self) -> str:
        """The URL in force."""
        return self.database_url or f"sqlite:///{self.data_dir / 'surehit.db'}"

    @property
    def is_embedded(self) -> bool:
        """True on the embedded default (SQLite), where `up` and `serve` migrate by themselves."""
        return self.database.startswith("sqlite")

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can reach the service."""
        return bool(self.uds) or self.host in LOOPBACK

    @property
    def models_dir(self) -> Path:
        """Where built model files live."""
        return self.data_dir / "models"

    @property
    def verifiers_folder(self) -> Path:
        """Where the folders of verifiers are."""
        return self.verifiers_dir or self.data_dir / "verifiers"

    @property
    def workers(self) -> int:
        """Embedding threads in force: unless told otherwise one per usable core, but for the one that requests keep."""
        usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        return self.embed_threads or max(1, min(8, usable - 1))

    def sampling_secret(self) -> bytes:
        """The key of the sampling draws: whoever knew it could keep bad hits away from reviewers."""
        given = self.sampling_key.get_secret_value()
        if given:
            return hashlib.sha256(given.encode()).digest()
        path = self.data_dir / "sampling.key"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        is_empty = path.exists() and not path.stat().st_size  # left so by a crash
        if is_empty or not path.exists():
            _place_secret(path, replace=is_empty)
        return path.read_bytes()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, which wins over `surehit.toml` here."""
        toml = TomlConfigSettingsSource(settings_cls, toml_file="surehit.toml")
        return init_settings, env_settings, toml


def _place_secret(path: Path, *, replace: bool) -> None:
    """32 random bytes in a file that appears whole; of two processes that make one at once, one wins."""
    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.name}.", dir=path.parent
    )  # its owner's alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(32))
        if replace:
            os.replace(temporary, path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
