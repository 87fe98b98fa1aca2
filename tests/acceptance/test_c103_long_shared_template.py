"""C-103: a long fixed template drowns the line that varies. Real embedder, default threshold."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import REAL_MODELS, chat, running

RULES = (
    "Translate the segment into Dutch. Keep product names as they are. Use the informal form of "
    "address. Never add an explanation. Keep line breaks and numbers. Prefer short sentences. "
    "Write dates as day month year. Leave placeholders in braces untouched. "
)
TEMPLATE = " ".join((RULES * 10).split()[:400])
STORED = "The lift is out of order."
OTHERS = [
    "Breakfast is served until ten.",
    "The pool is closed on Mondays.",
    "Please leave your key at the desk.",
    "The lift is working again.",
    "The stairs are out of order.",
    "Check-out is at eleven.",
    "Dogs are welcome in the garden.",
    "The sauna opens at four.",
    "Parking costs twelve euros a night.",
    "The lift is out of service until Friday.",
    "Towels can be changed on request.",
    "Smoking is not allowed indoors.",
    "The bar closes at midnight.",
    "A taxi can be ordered at reception.",
    "The heating is out of order.",
    "Your room faces the sea.",
    "Bicycles can be rented next door.",
    "The lift is for guests only.",
    "Late arrivals ring the bell.",
    "The restaurant is fully booked.",
]


def in_system(segment: str) -> Any:
    """Template as system message, the segment as user message."""
    messages = [
        {"role": "system", "content": TEMPLATE},
        {"role": "user", "content": f"Segment: {segment}"},
    ]
    return chat("", messages=messages)


def in_user(segment: str) -> Any:
    """Template in front of the segment, in one message."""
    return chat(f"{TEMPLATE}\nSegment: {segment}")


def in_user_short(segment: str) -> Any:
    """The same with a template that the embedder reads whole, so that nothing but the guards can tell."""
    return chat(f"{' '.join(TEMPLATE.split()[:120])}\nSegment: {segment}")


@pytest.mark.parametrize("place", [in_system, in_user, in_user_short])
async def test_c103_other_segments_under_one_template_miss(
    sqlite_url: str, tmp_path: Path, models_dir: Path, place: Any
) -> None:
    """Twenty other segments miss, the original is an exact hit."""
    (tmp_path / "models").symlink_to(models_dir)
    async with running(
        sqlite_url, tmp_path, embedder=REAL_MODELS, embed_budget_ms=60_000
    ) as client:
        reply = await client.call("PUT", "/v1/lines/faq", {"mode": "serve"})
        assert reply.status_code == 200
        await client.settled()
        await client.store(place(STORED), "S1")
        for other in OTHERS:
            found = await client.lookup(place(other))
            assert found["outcome"] == "miss", (other, found)
            assert found["reason"] != "degraded"
        original = await client.lookup(place(STORED))
        assert (original["tier"], original["response"]) == ("exact", "S1")
