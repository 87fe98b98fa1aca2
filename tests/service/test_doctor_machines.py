"""Doctor, where several machines work together, and where a line needs more than the models."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from index.embedding import catalog
from service import doctor, embed_server
from service.fake_upstream import running as serving
from service.settings import Settings
from tests import cross_encoders
from tests.harness import running


def checks(settings: Settings) -> dict[str, doctor.Check]:
    return {check.check: check for check in doctor.run(settings)}


def test_doctor_looks_at_pgvector_replica_and_embedding_server(
    postgresql_url: str, tmp_path: Path, models_dir: Path
) -> None:
    catalog.load("minilm", models_dir)  # built once, which may take longer than a call waits
    app = embed_server.create_app(models_dir=models_dir, threads=1, models=["minilm"])
    with serving(app) as url:
        found = checks(
            Settings(
                database_url=postgresql_url,
                data_dir=tmp_path,
                search="pgvector",
                read_dsn=postgresql_url,
                embed_url=url,
                embed_model="minilm",
            )
        )
    assert found["pgvector"].ok
    assert "not created yet" in found["pgvector"].detail
    assert (found["replica"].ok, found["replica"].detail) == (False, "is no standby")
    assert found["embedding server"].detail == "minilm, 384 dimensions"


def test_doctor_says_what_mends_an_absent_server(postgresql_url: str, tmp_path: Path) -> None:
    found = checks(
        Settings(
            database_url=postgresql_url,
            data_dir=tmp_path,
            read_dsn="postgresql://nobody@127.0.0.1:1/none",
            embed_url="http://127.0.0.1:1",
            embed_model="m",
        )
    )
    assert not found["replica"].ok
    assert "SUREHIT_READ_DSN" in found["replica"].mend
    assert not found["embedding server"].ok
    assert "SUREHIT_EMBED_URL" in found["embedding server"].mend


async def test_doctor_looks_at_the_folders_of_verifiers(sqlite_url: str, tmp_path: Path) -> None:
    """A worker without the folder serves fewer hits and says so in its log alone."""
    settings = Settings(database_url=sqlite_url, data_dir=tmp_path)
    folder = cross_encoders.build(tmp_path / "verifiers" / "tiny")
    rule = {"name": "tiny", "low": 0.8, "high": 0.95, "accept": 0.9}
    async with running(sqlite_url, tmp_path) as client:
        assert "verifier tiny" not in await asyncio.to_thread(checks, settings)
        await client.line(verifier=rule)
        await client.call("PUT", "/v1/lines/own", {"mode": "exact", "embedder": f"st:{tmp_path}"})
    sound = await asyncio.to_thread(checks, settings)
    assert (sound["verifier tiny"].ok, sound["verifier tiny"].detail) == (
        True,
        "named by default/faq",
    )
    assert not sound[f"model st:{tmp_path}"].ok  # the folder holds no model
    shutil.rmtree(folder)
    gone = await asyncio.to_thread(checks, settings)
    assert not gone["verifier tiny"].ok
    assert "is not known" in gone["verifier tiny"].detail
    cross_encoders.build(folder, same="thanks")
    other = await asyncio.to_thread(checks, settings)
    assert "is not that of the folder" in other["verifier tiny"].detail
