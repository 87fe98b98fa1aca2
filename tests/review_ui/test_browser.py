"""A reviewer at the keyboard, in Chromium."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.review_ui.conftest import Running
from tests.review_ui.fake_data import NASTY, now_ms
from tests.review_ui.fake_service import Fake
from tests.review_ui.keyboard import IDLE, QUESTION, measure, settled, sign_in

Browser = Callable[[], Any]
Page = tuple[Running, str]
PACE_S = 0.5

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _reset(page: Page) -> None:
    """Begin with a double as new."""
    page[0].fake.__dict__.update(Fake().__dict__)


def count(fake: Fake, n: int, *, within_s: float = 5.0) -> list[tuple[str, dict[str, Any]]]:
    """Wait for `n` labels, then a little more, in which none may be added."""
    deadline = time.monotonic() + within_s
    while len(fake.labels()) < n and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.4)
    return fake.labels()


def test_twenty_items_by_keyboard(page: Page, chromium: Browser) -> None:
    """Verdicts of all kinds at a pace of two a second; each is one label on the item that was on the screen."""
    for n, item in enumerate(page[0].fake.items.values()):
        item.shown["query"] = item.shown["entry_query"] = f"How do I do thing number {n}?"
    tab = sign_in(chromium(), page[1], "Ann")
    wanted: list[tuple[str, str, str | None]] = []
    for n in range(20):
        shown = settled(tab)
        if n % 4 == 1:
            tab.keyboard.press("2")
            tab.get_by_role("button", name="Entity").wait_for()
            time.sleep(0.15)
            tab.keyboard.press("3")
            wanted.append((shown.question, "not_reusable", "entity"))
        else:
            tab.keyboard.press("3" if n % 4 == 3 else "1")
            wanted.append((shown.question, "unsure" if n % 4 == 3 else "reusable", None))
        settled(tab, after=shown)
        time.sleep(0.3)
    given = count(page[0].fake, 20)
    by_text = {page[0].fake.items[i].shown["query"]: label for i, label in given}
    assert len(given) == 20
    assert [(q, by_text[q]["verdict"], by_text[q]["reason"]) for q, _, _ in wanted] == wanted


def test_undo_and_another_verdict(page: Page, chromium: Browser) -> None:
    tab = sign_in(chromium(), page[1], "Ann")
    first = settled(tab)
    tab.keyboard.press("1")
    second = settled(tab, after=first)
    time.sleep(PACE_S)
    tab.keyboard.press("u")
    assert settled(tab, after=second) == first
    assert count(page[0].fake, 0) == []
    tab.keyboard.press("3")
    ((_, label),) = count(page[0].fake, 1)
    assert label["verdict"] == "unsure"


@pytest.mark.parametrize("first_pause_s", [0.03, 0.6])
def test_a_held_key_gives_one_label(page: Page, chromium: Browser, first_pause_s: float) -> None:
    """Keyboards wait before they repeat: some hardly, most about half a second, longer than any debounce."""
    tab = sign_in(chromium(), page[1], "Ann")
    settled(tab)
    tab.keyboard.down("1")
    time.sleep(first_pause_s)
    for _ in range(25):
        tab.keyboard.down("1")  # the second `down` without an `up` is a repetition
        time.sleep(0.03)
    tab.keyboard.up("1")
    assert len(count(page[0].fake, 1)) == 1


def test_without_the_browsers_help_a_held_key_still_gives_one_label(
    page: Page, chromium: Browser
) -> None:
    """The server's own debounce, as for a key that bounces."""
    tab = sign_in(chromium(), page[1], "Ann")
    settled(tab)
    for _ in range(10):
        tab.keyboard.press("1")
        time.sleep(0.04)
    assert len(count(page[0].fake, 1)) == 1


def test_typing_a_note_judges_nothing(page: Page, chromium: Browser) -> None:
    tab = sign_in(chromium(), page[1], "Ann")
    settled(tab)
    tab.keyboard.press("f")
    note = tab.get_by_role("textbox", name="What should an admin look at?")
    note.fill("")
    note.type("123 su 1")
    tab.get_by_role("button", name="Tell").click()
    tab.get_by_text("Noted for an admin").wait_for()
    assert count(page[0].fake, 0) == []
    assert [f["note"] for i in page[0].fake.items.values() for f in i.flags] == ["123 su 1"]


def test_two_reviewers_never_hold_one_item(page: Page, chromium: Browser) -> None:
    """Both press at the same moments; whatever is on the screens differs, and nothing is judged twice."""
    tabs = [sign_in(chromium(), page[1], name) for name in ("Ann", "Bo")]
    shown = [settled(tab) for tab in tabs]
    for _ in range(10):
        assert shown[0] != shown[1]
        for tab in tabs:
            tab.keyboard.press("1")
        shown = [settled(tab, after=old) for tab, old in zip(tabs, shown, strict=True)]
        time.sleep(0.3)
    given = count(page[0].fake, 20)
    assert len(given) == len({item for item, _ in given}) == 20
    assert {label["reviewer"] for _, label in given} == {"Ann", "Bo"}


def test_markup_is_shown_and_not_run(page: Page, chromium: Browser) -> None:
    fake = page[0].fake
    fake.items = {k: v for k, v in fake.items.items() if NASTY in v.shown["query"]}
    tab = chromium()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.split("/")[2]))
    sign_in(tab, page[1], "Ann")
    settled(tab)
    box = tab.locator(".sh-text").nth(3)
    visible = NASTY.replace("\u202e", "U+202E").replace("\u202c", "U+202C")
    assert box.inner_text() == visible
    assert box.locator("img, script, a, strong").count() == 0
    assert tab.title() == "Surehit review"
    assert set(asked) == {page[1].removeprefix("http://")}


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_keys_judge_as_soon_as_a_line_was_picked(page: Page, chromium: Browser, by: str) -> None:
    tab = sign_in(chromium(), page[1], "Ann")
    settled(tab)
    picker = tab.get_by_role("combobox", name="Line")
    picker.click()
    tab.get_by_role("option", name="code").click()
    tab.get_by_text("Nothing is waiting for you").wait_for()
    if by == "mouse":
        picker.click()
        tab.get_by_role("option", name="support-faq").click()
    else:
        picker.fill("nosuchline")
        picker.fill("faq")
        tab.keyboard.press("Enter")
    tab.locator(QUESTION).first.wait_for()
    settled(tab)
    tab.keyboard.press("1")
    ((_, label),) = count(page[0].fake, 1)
    assert label["verdict"] == "reusable"


CUT = r"""() => {
  const found = [];
  const isSeen = (box) => box.checkVisibility() && box.clientWidth > 1;
  const theirs = (box) => box.closest(".sh-text, .sh-recent, canvas");
  for (const box of document.querySelectorAll("section *, main *, header *")) {
    const isCut = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible";
    if (isCut && isSeen(box) && !theirs(box)) found.push("cut: " + (box.value || box.innerText));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement.closest("button, table, label") || !isSeen(text.parentElement)) continue;
    for (const word of text.data.matchAll(/[\p{L}\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((rect) => rect.top)).size > 1) found.push("broken: " + word[0]);
    }
  }
  return found.filter((words) => words.length > 5);
}"""


@pytest.mark.parametrize("width", [900, 1400])
def test_every_word_can_be_read(page: Page, chromium: Browser, width: int) -> None:
    """On all pages, in a window as wide as half a screen and as a whole one; texts of users scroll in their boxes."""
    page[0].fake.lines["support-faq"]["changes"] = [
        {
            "at_ms": now_ms(),
            "by": "ann@example.com",
            "reason": "reviewers found no false hit above it in two weeks",
            "before": {"mode": "shadow", "threshold": 0.95, "target_false_hit_rate": 0.03},
            "after": {"mode": "serve", "threshold": 0.86, "target_false_hit_rate": 0.05},
        }
    ]
    *_, item = page[0].fake.items.values()
    item.flags.append(
        {"verdict": "flag", "reason": None, "note": "odd", "at_ms": 1, "reviewer": "Bo"}
    )
    tab = chromium()
    tab.set_viewport_size({"width": width, "height": 900})
    settled(sign_in(tab, page[1], "Ann"))
    assert tab.evaluate(CUT) == []
    tab.keyboard.press("2")
    tab.get_by_role("button", name="Entity").wait_for()
    settle_down(tab)
    assert tab.evaluate(CUT) == []
    tab.keyboard.press("1")
    for name, last in (
        ("Curves and threshold", "What became of them"),
        ("Lines", "New line"),
        ("Reviewers", "Add an item with a known answer"),
        ("Overview", "A total of both would say nothing"),
        ("Audit", "What this rests on"),
        ("Entries", "Newer"),
    ):
        tab.get_by_role("link", name=name, exact=True).click()
        tab.get_by_text(last).first.wait_for()
        settle_down(tab)
        assert (name, tab.evaluate(CUT)) == (name, [])
        grids = tab.get_by_test_id("stDataFrame").count()  # what a grid cuts, its canvas hides
        assert (name, grids) == (name, name == "Entries")
        if name in ("Overview", "Audit"):
            days = tab.get_by_role("radiogroup").inner_text().split()
            assert days == ["1", "7", "30", "90"]


def settle_down(tab: Any) -> None:
    """Until the script has run and the layout has followed."""
    tab.locator(IDLE).wait_for()
    time.sleep(0.5)


def test_a_threshold_is_applied_and_rolled_back(page: Page, chromium: Browser) -> None:
    tab = sign_in(chromium(), page[1], "Ann")
    tab.get_by_role("link", name="Curves and threshold").click()
    for decision, threshold in (("0.910", 0.91), ("0.930", 0.93)):
        tab.get_by_text("What became of them").wait_for()
        tab.locator(IDLE).wait_for()
        tab.get_by_role("combobox", name="Decision").fill(decision)
        tab.keyboard.press("Enter")
        tab.get_by_role("textbox", name="Why").fill("browser test")
        tab.get_by_role("button", name="Apply").click()
        tab.get_by_text(f"{decision} is in force on every worker").wait_for()
        assert page[0].fake.lines["support-faq"]["threshold"] == threshold
    tab.get_by_text("0.930 certified").first.wait_for()
    assert [e["reason"] for e in page[0].fake.events] == ["browser test"] * 2


def test_every_press_reaches_the_next_item(page: Page, chromium: Browser) -> None:
    """Prints the time from the key press to the next item; `python -m tests.review_ui.keyboard` measures at length."""
    times_ms = measure(sign_in(chromium(), page[1], "Ann"), presses=15)
    print(f"key press to next item: median {times_ms[7]:.0f} ms, slowest {times_ms[-1]:.0f} ms")  # noqa: T201 - the figure is the point
    assert len(count(page[0].fake, 15)) == 15
    assert times_ms[7] < 2_000  # a loaded machine is slow, a broken page is slower
