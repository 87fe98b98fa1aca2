"""A run's report: the same facts as text and as one page that needs nothing else."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from evaluation import report, tuning
from tests.evaluation.desks import logged
from tests.evaluation.test_tuning import judged, shadow
from tests.harness import Clock, running


class Tags(HTMLParser):
    """All tags, and whether each was closed."""

    VOID = frozenset({"meta", "polygon", "polyline", "line"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


async def test_the_page_is_whole_and_asks_nobody(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        empty = await tuning.tune(desk, "default", line="faq", by="test")
        await logged(client, *judged(1_000, seed=1))
        full = await tuning.tune(desk, "default", line="faq", by="test")
    for tuned in (empty, full):
        page = report.as_html(tuned)
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "svg" in tags.seen
        assert tags.seen.isdisjoint({"script", "link", "img", "iframe"})
        assert not re.search(r"https?://|nan|inf\b", page)
        for _, value in report.facts(tuned.report):
            assert value.replace("<", "&lt;") in page
        assert tuned.sentence() in report.as_text(tuned)
    assert full.decision is not None
    assert f"{full.decision.threshold:.3f}" in report.as_html(full)


async def test_a_line_name_cannot_write_markup(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        tuned = await tuning.tune(desk, "default", line="faq", by="test")
    nasty = tuning.Tuned("<script>x</script>", tuned.answer, None, False, tuned.report)
    assert "<script>" not in report.as_html(nasty)
