"""What `surehit doctor` looks at where several machines work together: pgvector, the replica, the embedding server."""

from __future__ import annotations

import psycopg

from index.embedding.remote import RemoteEmbedder
from index.types import EmbeddingError
from service.settings import Settings
from service.storage import pgvector
from service.storage.postgresql import conninfo


def pgvector_version(settings: Settings) -> tuple[bool, str, str]:
    """(ok, detail, what mends it) for search in the database."""
    sql = "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"
    oldest = ".".join(map(str, pgvector.OLDEST))
    mend = f"install pgvector {oldest} or later on the database server, or set SUREHIT_SEARCH=local"
    try:
        with psycopg.connect(conninfo(settings.database), connect_timeout=5) as connection:
            row = connection.execute(sql).fetchone()
    except psycopg.Error as error:
        return False, _short(error), "check SUREHIT_DATABASE_URL"
    if row is None:
        return False, "the server has no extension `vector`", mend
    installed, offered = row
    if installed is None:
        return (
            _is_new(offered),
            f"{offered} offered, not created yet",
            "run `surehit migrate` with SUREHIT_SEARCH=pgvector" if _is_new(offered) else mend,
        )
    return _is_new(installed), str(installed), "" if _is_new(installed) else mend


def replica(settings: Settings) -> tuple[bool, str, str]:
    """(ok, detail, what mends it) for the standby."""
    sql = "SELECT pg_is_in_recovery(), extract(epoch FROM now() - pg_last_xact_replay_timestamp())"
    mend = "check SUREHIT_READ_DSN; until then the primary is read"
    try:
        with psycopg.connect(conninfo(settings.read_dsn), connect_timeout=5) as connection:
            row = connection.execute(sql).fetchone()
    except psycopg.Error as error:
        return False, _short(error), mend
    if row is None or not row[0]:
        return False, "is no standby", "name a physical standby of the same server"
    behind = "nothing replayed yet" if row[1] is None else f"last change {row[1]:.0f} s ago"
    return True, behind, ""


def embedding_server(settings: Settings, model: str) -> tuple[bool, str, str]:
    """(ok, detail, what mends it) for the embedding server and one of its models."""
    embedder = RemoteEmbedder(
        settings.embed_url,
        model=model,
        api_key=settings.embed_api_key.get_secret_value(),
        dimensions=settings.embed_dimensions,
        max_tokens=settings.embed_max_tokens,
    )
    try:
        embedder.probe()
    except (EmbeddingError, ValueError) as error:
        return False, str(error), "check SUREHIT_EMBED_URL, SUREHIT_EMBED_MODEL and that it runs"
    finally:
        embedder.close()
    return True, f"{model}, {embedder.dimensions} dimensions", ""


def _is_new(found: str) -> bool:
    return tuple(int(n) for n in found.split(".")[:2]) >= pgvector.OLDEST


def _short(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
