"""Nothing crosses tenants or scopes: hostile names, and no storage function without a tenant."""

from __future__ import annotations

import ast
import asyncio
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import service.storage
from service.storage.models import Base
from tests.harness import copy_database, running

NAMES = st.text(
    st.sampled_from("aA*%_?'\"\\|:;,.-{}[]()<>$&# \u200b京é\u0301😀"), min_size=1, max_size=6
).filter(lambda name: name == name.strip() and name not in (".", ".."))


@pytest.fixture(scope="session")
def sqlite_template(_sqlite_template: Path) -> Path:
    """The migrated file; each example copies it."""
    return _sqlite_template


@settings(max_examples=20, deadline=None)
@given(st.lists(NAMES, min_size=3, max_size=3, unique=True), st.permutations(range(3)))
def test_hostile_names_never_meet(
    sqlite_template: Path, names: list[str], order: list[int]
) -> None:
    """As tenant, scope, line and tag: each finds its own, never another's, and a purge hits its own alone."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_each_its_own(url, folder, names, order))


async def _each_its_own(url: str, folder: str, names: list[str], order: list[int]) -> None:
    triples = [(names[n], names[order[n]], names[order[order[n]]]) for n in range(3)]
    async with running(url, Path(folder)) as client:
        for tenant, scope, line in triples:
            headers = await client.key(tenant)
            await client.line(quote(line, safe=""), threshold=-1.0, headers=headers)
            await client.store("q", tenant, scope=scope, line=line, tags=[scope], headers=headers)
        for tenant, _, _ in triples:
            headers = await client.key(tenant)
            for _, scope, line in triples:
                for text in ("q", "another"):
                    found = await client.lookup(text, scope=scope, line=line, headers=headers)
                    owner = next(t for t, s, at in triples if (s, at) == (scope, line))
                    may_hit = owner == tenant and (text == "q" or found.get("reason") is None)
                    assert found.get("response") == (tenant if may_hit else None)
        for tenant, scope, _ in triples:
            headers = await client.key(tenant)
            others = {s for _, s, _ in triples} - {scope}
            for other in others:
                reply = await client.call("POST", "/v1/invalidate", {"tag": other}, headers=headers)
                assert reply.json() == {"invalidated": 0}
            reply = await client.call("POST", "/v1/invalidate", {"tag": scope}, headers=headers)
            assert reply.json() == {"invalidated": 1}


NO_ROWS = {"database", "migrate", "models", "pgvector", "postgresql", "query", "sqlite", "vectors"}
"""Modules that set up databases and build statements; they hand out no tenant's row."""
WITHOUT_TENANT = {
    "audit_events.described": "works on a row that was read for its tenant",
    "audit_events.pseudonym": "a function of a text",
    "entries.next_change": "a number of the whole database, no row",
    "partition_rows.horizon": "a number of the whole database, no row",
    "ledger.add": "each row carries its own tenant",
    "lookups.add": "each row carries its own tenant",
    "lookups.add_items": "each row carries its own tenant",
    "lookups.count": "each counter carries its own tenant",
    "lookups.drop_old": "upkeep: deletes by age over all tenants and shows nothing",
    "remote_models.add": "what an embedding server answers to fixed probe texts; no tenant's text",
    "remote_models.generations": "what an embedding server answers to fixed probe texts",
    "store_counts.add": "by the id of a key, which belongs to one tenant",
    "store_counts.drop_old": "upkeep: deletes by age over all tenants and shows nothing",
    "tenants.any_key_made": "whether the service may be used without a key",
    "tenants.count_keys": "whether the service has any key at all; the number is shown nowhere",
    "tenants.key_by_hash": "finds the tenant of a caller",
    "upkeep.all_lines": "upkeep of every line; shown nowhere",
    "upkeep.drop_expired": "upkeep: deletes by age over all tenants",
    "upkeep.drop_old_fills": "upkeep: deletes by age over all tenants",
    "worth.weight": "a function of the time",
}


def test_every_storage_function_takes_the_tenant() -> None:
    """A query that forgets the tenant cannot be written by accident, in no module of the storage."""
    missing = set()
    for path in Path(service.storage.__path__[0]).glob("*.py"):
        if path.stem in NO_ROWS:
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            names = {a.arg for a in node.args.args + node.args.kwonlyargs}
            is_public = not node.name.startswith("_")
            if is_public and "tenant" not in names:
                missing.add(f"{path.stem}.{node.name}")
    assert missing == WITHOUT_TENANT.keys()


def test_every_table_of_tenants_names_the_tenant() -> None:
    """Whatever a tenant writes carries its name."""
    shared = {
        "tenants",
        "change_counter",
        "remote_models",  # answers of an embedding server to fixed probe texts
        "store_counts",  # by the id of a key, which belongs to one tenant
    }
    for table in Base.metadata.sorted_tables:
        assert ("tenant_id" in table.c) == (table.name not in shared), table.name


async def test_partitions_of_two_tenants_share_nothing(database_url: str, tmp_path: Path) -> None:
    """Equal in everything but the tenant: the other's entries are not even candidates."""
    async with running(database_url, tmp_path) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        for headers in (t1, t2):
            await client.line(threshold=-1.0, headers=headers)
        await client.store("Where is the manual", "t1's", headers=t1)
        for text in ("Where is the manual", "Where is the manual?"):
            found = await client.lookup(text, headers=t2)
            assert (found["reason"], found["score"], found["guard"]) == ("empty", None, None)
        reply = await client.call(
            "POST",
            "/v1/explain",
            {"line": "faq", "a": "Where is the manual", "b": "Where is the manual"},
            headers=t2,
        )
        assert reply.json()["tier"] == "exact"  # a statement about the rule, not about any entry
