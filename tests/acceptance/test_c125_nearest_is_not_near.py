"""C-125: the nearest entry is returned however far it is, or a distance is read as a similarity.

Single lookup; test_c125_nearest_is_not_near_proxy.py has the proxy's path. The product has no batch lookup.
"""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import running

STORED = "Opening hours of the library"
AT = {
    "How do I bake bread?": -0.4,
    "Which bus goes to the harbour?": 0.05,
    "Who wrote the city's history?": 0.5,
    "When is the library open?": 0.895,
    "What are the library's opening hours?": 0.905,
    "The library's opening hours": 0.95,
    "The opening hours of the library": 1.0,
}


async def test_c125_hits_exactly_at_and_over_the_threshold(
    database_url: str, tmp_path: Path
) -> None:
    """Each prompt in a database with that one entry; scores are cosines, larger is nearer."""
    for asked, similarity in AT.items():
        rigged = RiggedEmbedder({(STORED, asked): similarity})
        async with running(database_url, tmp_path, embedder=rigged) as client:
            await client.line()
            await client.call("POST", "/v1/invalidate", {"line": "faq"})
            assert (await client.lookup(STORED))["reason"] == "empty"  # an empty tenant
            await client.store(STORED, "A1")
            found = await client.lookup(asked)
            assert found["outcome"] == ("hit" if similarity >= 0.9 else "miss"), (asked, found)
            assert abs(found["score"] - similarity) <= 1e-6
