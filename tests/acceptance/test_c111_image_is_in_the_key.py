"""C-111: non-text parts are replaced by a placeholder before hashing.

Choice of this product: image parts are an exact part of the context, so a rewording with the very same image may hit.
"""

import base64
from pathlib import Path
from typing import Any

from index.testing import RiggedEmbedder
from tests.harness import chat, running

ASKED, REWORDED = "Describe this picture.", "Describe the picture."
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.97})
I1 = base64.b64encode(bytes(range(250))).decode()
I2 = base64.b64encode(bytes(range(1, 251))).decode()


def with_image(text: str, data: str | None) -> dict[str, Any]:
    """One user message of a text part and, if given, an image part."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if data is not None:
        url = f"data:image/png;base64,{data}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return chat("", messages=[{"role": "user", "content": parts}])


async def test_c111_another_or_no_image_misses(database_url: str, tmp_path: Path) -> None:
    """I2 and no image miss by key and by meaning; I1 hits; no spelling of I1 meets I2."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(with_image(ASKED, I1), "A1")
        for text in (ASKED, REWORDED):
            for image in (I2, None):
                found = await client.lookup(with_image(text, image))
                assert (found["outcome"], found["reason"]) == ("miss", "empty")
        assert (await client.lookup(with_image(ASKED, I1)))["tier"] == "exact"
        reworded = await client.lookup(with_image(REWORDED, I1))
        assert (reworded.get("tier"), reworded["response"]) == ("semantic", "A1")
        broken = f"{I1[:76]}\r\n{I1[76:]}"
        await client.store(with_image(ASKED, I2), "A2")
        for spelling in (I1.rstrip("="), broken):
            found = await client.lookup(with_image(ASKED, spelling))
            assert found.get("response") in (None, "A1")
