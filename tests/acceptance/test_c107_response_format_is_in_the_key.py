"""C-107: two output schemas share an entry."""

from pathlib import Path
from typing import Any

from index.testing import RiggedEmbedder
from tests.harness import chat, running

ASKED = "Which colour is the van?"
REWORDED = "What colour does the van have?"
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.97})


def schema(name: str, kind: str, *, backwards: bool = False) -> dict[str, Any]:
    """A response format; `backwards` writes every object's keys in the other order."""
    inner: dict[str, Any] = {"type": "object", "properties": {name: {"type": kind}}}
    body: dict[str, Any] = {"name": "s", "strict": True, "schema": inner}
    if backwards:
        body["schema"] = dict(reversed(inner.items()))
        body = dict(reversed(body.items()))
        return {"json_schema": body, "type": "json_schema"}
    return {"type": "json_schema", "json_schema": body}


async def test_c107_other_or_no_schema_misses_and_key_order_does_not_matter(
    database_url: str, tmp_path: Path
) -> None:
    """S2 and no format miss by key and by meaning; S1 with its keys turned round is the same."""
    colour, size = schema("colour", "string"), schema("size", "integer")
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(chat(ASKED, response_format=colour), {"colour": "red"})
        for text in (ASKED, REWORDED):
            assert (await client.lookup(chat(text, response_format=size)))["outcome"] == "miss"
            assert (await client.lookup(chat(text)))["outcome"] == "miss"
        turned = schema("colour", "string", backwards=True)
        assert list(turned) != list(colour)
        found = await client.lookup(chat(ASKED, response_format=turned))
        assert (found["tier"], found["response"]) == ("exact", {"colour": "red"})
        reworded = await client.lookup(chat(REWORDED, response_format=colour))
        assert reworded.get("tier") == "semantic"
