"""`surehit doctor`: is everything that the service needs here and sound, and if not, what mends it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, dataclass
from typing import Any

from index.embedding import catalog
from index.types import EmbeddingError
from service import doctor_machines
from service.errors import InvalidRequest, SurehitError
from service.lines import LineConfig
from service.policy import Policies
from service.score import VerifierRule
from service.serving import check as check_serving
from service.settings import Settings
from service.storage import migrate, upkeep
from service.storage.database import open_database
from service.verifiers import Verifiers


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    check: str
    ok: bool
    detail: str
    mend: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def run(settings: Settings) -> list[Check]:
    """All checks, in the order in which a start would meet them."""
    found = [_data_dir(settings), _database(settings), _schema(settings), _address(settings)]
    configs = asyncio.run(_lines(settings)) if found[1].ok and found[2].ok else {}
    found += _verifiers(settings, configs)
    if settings.search == "pgvector":
        found.append(Check("pgvector", *doctor_machines.pgvector_version(settings)))
    if settings.read_dsn:
        found.append(Check("replica", *doctor_machines.replica(settings)))
    if settings.embed_url:
        model = settings.embed_model or catalog.usual_for("en")
        server = doctor_machines.embedding_server(settings, model)
        return [*found, Check("embedding server", *server)]
    names = dict.fromkeys((catalog.default_for("en"), catalog.default_for("zh")))
    names |= dict.fromkeys(config.embedder for config in configs.values() if config.embedder)
    return found + [_model(settings, name) for name in names]


def _data_dir(settings: Settings) -> Check:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Check(
            "data directory",
            False,
            str(error),
            "set SUREHIT_DATA_DIR to a folder that can be written",
        )
    ok = os.access(settings.data_dir, os.W_OK)
    return Check("data directory", ok, str(settings.data_dir), "" if ok else "make it writable")


def _database(settings: Settings) -> Check:
    async def try_it() -> None:
        db = open_database(settings.database, budget_ms=5_000)
        await db.open()
        await db.close()

    kind = settings.database.split(":", 1)[0]
    try:
        asyncio.run(try_it())
    except SurehitError as error:
        return Check(
            "database", False, error.detail, "check SUREHIT_DATABASE_URL and that the server runs"
        )
    return Check("database", True, kind)


def _schema(settings: Settings) -> Check:
    try:
        current = migrate.current(settings.database)
    except Exception as error:
        return Check("schema", False, str(error).splitlines()[0], "mend the database first")
    ok = current == migrate.head() or (current is None and settings.is_embedded)
    return Check(
        "schema",
        ok,
        f"{current or 'empty'} (code {migrate.head()})",
        "" if ok else "run `surehit migrate`",
    )


def _address(settings: Settings) -> Check:
    if settings.is_loopback:
        return Check("address", True, f"{settings.uds or settings.host}, this machine only")
    try:
        check_serving(settings)
    except SurehitError as error:
        return Check("address", False, error.detail, "run `surehit key create`")
    return Check("address", True, settings.host)


async def _lines(settings: Settings) -> dict[str, LineConfig]:
    """Settings of every line, by `tenant/line`; none before the embedded database was made by a first start."""
    if migrate.current(settings.database) is None:
        return {}
    db = open_database(settings.database, budget_ms=5_000)
    await db.open()
    try:
        found, policies = {}, Policies(db)
        for tenant, line in await upkeep.all_lines(db):
            policy = await policies.load(tenant, line)
            if policy is not None:
                found[f"{tenant}/{line}"] = policy.config
        return found
    finally:
        await db.close()


def _verifiers(settings: Settings, configs: dict[str, LineConfig]) -> list[Check]:
    """One check per verifier that some line names: its folder is here and is the one that was meant."""
    verifiers = Verifiers(settings.verifiers_folder, budget_ms=settings.verify_budget_ms)
    lines: dict[VerifierRule, list[str]] = {}
    for line, config in configs.items():
        if config.verifier is not None:
            lines.setdefault(config.verifier, []).append(line)
    found = []
    for rule, named_by in lines.items():
        detail, mend = f"named by {', '.join(named_by)}", ""
        try:
            verifiers.pin({"verifier": {"name": rule.name, "digest": rule.digest}})
        except InvalidRequest as error:
            detail = f"{detail}: {error.detail}"
            mend = "put the folder back, or set the line's verifier anew (certify again then)"
        found.append(Check(f"verifier {rule.name}", not mend, detail, mend))
    return found


def _model(settings: Settings, name: str) -> Check:
    mend = "reinstall surehit, or set the line's embedder"
    try:
        agreement = catalog.verify(name, catalog.load(name, settings.models_dir))
    except (EmbeddingError, OSError, ValueError) as error:
        return Check(f"model {name}", False, str(error), mend)
    cosines = "no reference vectors"
    if agreement.mean_cosine is not None:
        cosines = f"cosine to the original mean {agreement.mean_cosine:.5f}, min {agreement.min_cosine:.5f}"
    detail = f"{cosines}; alone and in a batch min {agreement.min_alone_versus_batch:.6f}"
    return Check(
        f"model {name}", agreement.is_faithful, detail, "" if agreement.is_faithful else mend
    )
