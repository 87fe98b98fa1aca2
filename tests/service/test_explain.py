"""Why one request would, or would not, be served another's answer; it agrees with what a lookup does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.testing import RiggedEmbedder
from service.explain import first_difference
from tests.harness import chat, running
from tests.service.ways import problem

ASKED, NEAR, FAR = "Where is the manual", "Where is our manual", "Who has the manual"
NUMBER, WORD = "Where is manual 3", "Where is manual 4"
RIGGED = RiggedEmbedder(
    {(ASKED, NEAR): 0.95, (ASKED, FAR): 0.5, (NEAR, FAR): 0.5, (NUMBER, WORD): 0.97}
)
CASES: list[tuple[Any, Any, dict[str, Any], str | None, str | None]] = [
    (chat(ASKED), chat(ASKED, user="u"), {}, None, None),
    (chat(ASKED), chat(NEAR), {}, None, "$.messages[0].content (character 9)"),
    (chat(ASKED), chat(FAR), {}, "score", "$.messages[0].content (character 2)"),
    (chat(NUMBER), chat(WORD), {}, "guard", "$.messages[0].content (character 16)"),
    (chat(ASKED), chat(NEAR, top_p=0.2), {}, "field", "$.top_p"),
    (chat(ASKED), chat(NEAR, temperature=1), {}, "field", "$.temperature"),
    (chat(ASKED, seed=2**70), chat(ASKED, seed=2**70 + 1), {}, "field", "$.seed"),
    (chat(ASKED, seed=-(2**70)), chat(NEAR, seed=-(2**70)), {}, None, None),
    (chat(ASKED), chat(NEAR, **{"x-y": 1}), {}, "field", '$["x-y"]'),
    (chat(ASKED), chat("What is it today?"), {}, "eligibility", None),
    (chat(ASKED), chat(NEAR), {"mode": "shadow"}, "shadow", None),
    (chat(ASKED), chat(NEAR), {"mode": "exact"}, "mode", None),
    (chat(ASKED), chat(ASKED), {"mode": "off"}, "mode", None),
    (chat(ASKED), {"messages": [{"role": "assistant", "content": "x"}]}, {}, "field", None),
]


@pytest.mark.parametrize(("a", "b", "line", "between", "path"), CASES)
async def test_explanation_agrees_with_a_lookup(
    sqlite_url: str,
    tmp_path: Path,
    a: Any,
    b: Any,
    line: dict[str, Any],
    between: str | None,
    path: str | None,
) -> None:
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(a, "answer")
        await client.line(**line)
        reply = await client.call("POST", "/v1/explain", {"line": "faq", "a": a, "b": b})
        said = reply.json()
        assert said["stands_between"] == between
        assert said["served"] == (between is None)
        if path is not None:
            assert said["difference"]["path"] == path
        found = await client.lookup(b)
        assert (found["outcome"] == "hit") == said["served"]
        if said["served"]:
            assert found["tier"] == said["tier"]
        if said["score"] is not None:
            assert found["score"] == said["score"]


async def test_line_that_does_not_exist_is_404_and_is_not_made(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        body = {"line": "none", "a": "x", "b": "y"}
        problem(await client.call("POST", "/v1/explain", body), 404, "not-found")
        assert (await client.call("GET", "/v1/lines")).json() == {"lines": []}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_a_difference_is_found_exactly_where_there_is_one(a: Any, b: Any) -> None:
    import orjson

    same = orjson.dumps(a, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        b, option=orjson.OPT_SORT_KEYS
    )
    assert (first_difference(a, b) is None) == same
    assert first_difference(a, a) is None
