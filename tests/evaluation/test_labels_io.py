"""Labels in and out: both formats, idempotent, all or nothing, and never in a certificate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.labels_io import FIELDS, as_csv, parse
from service.errors import InvalidRequest
from tests.evaluation.desks import label, next_item, queue, rigged
from tests.harness import Clock, running

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1
).filter(lambda t: t.strip() != "")
ROW = st.fixed_dictionaries(
    {
        "query": TEXT,
        "entry_query": TEXT,
        "verdict": st.sampled_from(["reusable", "not_reusable", "unsure"]),
        "reviewer": st.just("import") | TEXT.map(lambda t: t[:128]),
    }
)
URL = "/v1/labels/import?line=faq"


@given(st.lists(ROW, max_size=5))
def test_json_lines_come_through_whatever_the_text(rows: list[dict[str, str]]) -> None:
    """Line separators of Unicode included, which JSON need not escape."""
    body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert [(r.query, r.entry_query, r.verdict) for r in parse(body, "jsonl")] == [
        (row["query"], row["entry_query"], row["verdict"]) for row in rows
    ]


@given(st.lists(ROW, max_size=5))
def test_csv_comes_through_whatever_the_text(rows: list[dict[str, str]]) -> None:
    assert [(r.query, r.entry_query, r.verdict) for r in parse(as_csv(rows), "csv")] == [
        (row["query"], row["entry_query"], row["verdict"]) for row in rows
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "'=1", "''"])
def test_no_spreadsheet_takes_a_text_for_a_formula(text: str) -> None:
    """Not even one that came as a question from outside; read in again it is what it was."""
    row = {"query": text, "entry_query": f"{text} ?", "verdict": "reusable", "note": text}
    written = as_csv([row])
    assert f'"\'{text}"' in written
    assert f'"{text}"' not in written
    read = parse(written, "csv")[0]
    assert (read.query, read.entry_query, read.note) == (text, f"{text} ?", text)


def test_a_reviewer_has_one_name_however_it_is_spelt() -> None:
    row = {"query": "q", "entry_query": "e", "verdict": "reusable", "reviewer": " Zoe\u0308  B "}
    assert parse(json.dumps(row), "jsonl")[0].reviewer == "Zo\u00eb B"


async def test_importing_twice_changes_nothing_and_a_new_verdict_replaces(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path, clock=Clock()) as client:
        rows = [{"query": f"q{i}", "entry_query": f"e{i}", "verdict": "reusable"} for i in range(5)]
        body = "\n".join(map(json.dumps, rows)).encode()
        first = (await client.call("POST", URL, body)).json()
        again = (await client.call("POST", URL, body)).json()
        assert first == {"added": 5, "changed": 0, "unchanged": 0}
        assert again == {"added": 0, "changed": 0, "unchanged": 5}
        changed = json.dumps({**rows[0], "verdict": "not_reusable", "reason": "number"}).encode()
        assert (await client.call("POST", URL, changed)).json()["changed"] == 1
        out = (await client.call("GET", "/v1/labels/export?line=faq")).text
        found = {r["query"]: r["verdict"] for r in map(json.loads, out.splitlines())}
        assert found == {"q0": "not_reusable", **{f"q{i}": "reusable" for i in range(1, 5)}}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
async def test_an_export_read_in_again_changes_nothing(
    sqlite_url: str, tmp_path: Path, form: str
) -> None:
    """Into the same line; into another line every label is new, scored, and none is evidence."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(3)) as client:
        await queue(client, 3)
        for _ in range(3):
            await label(client, await next_item(client, "ann"), "ann", "reusable", note='a,\n"b"')
        url = f"/v1/labels/export?line=faq&format={form}"
        text = (await client.call("GET", url)).text
        back = f"/v1/labels/import?line=faq&format={form}"
        done = (await client.call("POST", back, text.encode())).json()
        assert done == {"added": 0, "changed": 0, "unchanged": 3}
        other = f"/v1/labels/import?line=other&format={form}"
        assert (await client.call("POST", other, text.encode())).json()["added"] == 3
        curve = (await client.call("GET", "/v1/lines/other/curve")).json()
        assert (curve["is_pilot"], curve["pilot_labels"]) == (True, 3)
        tuned = (await client.call("POST", "/v1/lines/other/tune", {})).json()
        assert (tuned["certified"], tuned["labels"]) == (False, 0)
        copied = (await client.call("GET", "/v1/labels/export?line=other")).text.splitlines()
        assert [json.loads(row)["score"] for row in copied] == pytest.approx([0.93] * 3)
        assert {json.loads(row)["kind"] for row in copied} == {"imported"}


async def test_one_wrong_row_and_nothing_is_taken(sqlite_url: str, tmp_path: Path) -> None:
    """Every wrong row is named with its field."""
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        good = '{"query":"q","entry_query":"e","verdict":"reusable"}'
        body = "\n".join(
            [good, '{"query":"","entry_query":"e","verdict":"reusable"}', '{"query":"q"}']
        )
        reply = await client.call("POST", URL, body.encode())
        assert reply.status_code == 422
        fields = [e["field"] for e in reply.json()["errors"]]
        assert fields == ["row 2: query", "row 3: entry_query"]
        assert (await client.call("GET", "/v1/labels/export?line=faq")).text == ""


def test_a_csv_without_its_columns_says_which() -> None:
    with pytest.raises(InvalidRequest, match="lacks entry_query, verdict"):
        parse("query,other\na,b\n", "csv")


def test_the_export_has_the_columns_an_import_needs() -> None:
    assert {"query", "entry_query", "verdict", "reason", "reviewer", "item_id"} <= set(FIELDS)
