"""C-126: the embedder cuts its input without a sign, so that prompts with one beginning become equal."""

from pathlib import Path

from tests.harness import REAL_MODELS, running

CLAUSE = (
    "The parties agree that the lessee shall keep the premises in good repair and shall not sublet "
    "any part of them without the written consent of the lessor, which may be withheld. "
)
PAGES = " ".join((CLAUSE * 40).split()[:900])
OTHER_END = " ".join(PAGES.split()[:800]) + " Signed in Lisbon by the heirs of the lessor." * 10
LIST, DRAFT = "Task: list the parties.", "Task: draft a termination letter."


async def test_c126_prompts_longer_than_the_model_reads_are_not_compared(
    sqlite_url: str, tmp_path: Path, models_dir: Path
) -> None:
    """Another task at the end and other last pages miss, and the reason says too long; the same prompt hits."""
    (tmp_path / "models").symlink_to(models_dir)
    async with running(
        sqlite_url, tmp_path, embedder=REAL_MODELS, embed_budget_ms=60_000
    ) as client:
        await client.line()
        await client.settled()
        await client.store(f"{PAGES} {LIST}", "A1")
        await client.store(f"{LIST} {PAGES}", "A2")
        await client.store(LIST, "short")  # so that the partition is not empty
        for prompt in (f"{PAGES} {DRAFT}", f"{LIST} {OTHER_END}"):
            found = await client.lookup(prompt)
            assert (found["outcome"], found["reason"]) == ("miss", "too_long")
        for prompt, answer in ((f"{PAGES} {LIST}", "A1"), (f"{LIST} {PAGES}", "A2")):
            found = await client.lookup(prompt)
            assert (found["tier"], found["response"]) == ("exact", answer)
