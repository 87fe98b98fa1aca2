"""What a reviewer's hands do, and how long the page takes to follow.

`python -m tests.review_ui.keyboard http://127.0.0.1:8501 --presses 50` measures a running page: time from the key
press until the next item is on the screen with its keys. It gives verdicts, so run it on data that nobody needs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from dataclasses import dataclass
from typing import Any

QUESTION = ".sh-question"
KEYS = '[class*="st-key-press-"][class*="-1-Reusable"]'
"""The button of key 1. Its class names the item, and it is drawn after the texts."""

IDLE = "[data-test-script-state=notRunning]"

# Waits in the browser itself, frame by frame: asking from outside would add its own round trips.
WAIT_FOR_ANOTHER = r"""async ([selector, before]) => {
  const began = performance.now();
  return await new Promise((done, failed) => {
    const look = () => {
      const keys = document.querySelector(selector);
      const item = keys && keys.className.match(/st-key-press-\S+/)[0];
      if (item && item !== before) return done(performance.now() - began);
      if (performance.now() - began > 15000) return failed(new Error("no next item within 15 s"));
      requestAnimationFrame(look);
    };
    look();
  });
}"""


@dataclass(frozen=True)
class Shown:
    """An item on the screen: its question, and what tells it from others with the same question."""

    question: str
    item: str


def sign_in(tab: Any, address: str, name: str) -> Any:
    """Open the page under a name; the tab."""
    tab.goto(address)
    tab.get_by_role("textbox", name="Your name").fill(name)
    tab.keyboard.press("Enter")
    tab.locator(QUESTION).first.wait_for()
    return tab


def settled(tab: Any, *, after: Shown | None = None) -> Shown:
    """What is on the screen, once it is another item than `after` and its keys are ready."""
    if after is not None:
        tab.evaluate(WAIT_FOR_ANOTHER, [KEYS, after.item])
    tab.locator(IDLE).wait_for()
    time.sleep(0.3)  # the page ignores presses on what has only just appeared
    keys = tab.locator(KEYS).first.get_attribute("class")
    item = next(name for name in keys.split() if name.startswith("st-key-press-"))
    return Shown(tab.locator(QUESTION).first.inner_text(), item)


def measure(tab: Any, *, presses: int) -> list[float]:
    """Milliseconds from key press to next item with its keys, ascending."""
    times_ms = []
    for _ in range(presses):
        before = settled(tab)
        tab.evaluate(
            f"([s, b]) => {{ window.surehitWaited = ({WAIT_FOR_ANOTHER})([s, b]); }}",
            [KEYS, before.item],
        )
        tab.keyboard.press("1")
        times_ms.append(float(tab.evaluate("() => window.surehitWaited")))
        time.sleep(0.2)
    return sorted(times_ms)


def main() -> None:
    """Print the figures of a running page as JSON."""
    from playwright.sync_api import sync_playwright

    from tests.review_ui.conftest import CHROMIUM_FLAGS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--presses", type=int, default=50)
    parser.add_argument("--name", default="bench")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        times_ms = measure(sign_in(tab, options.address, options.name), presses=options.presses)
        browser.close()
    p95 = times_ms[min(len(times_ms) - 1, round(0.95 * len(times_ms)))]
    found = {"presses": len(times_ms), "median_ms": statistics.median(times_ms), "p95_ms": p95}
    print(json.dumps(found))  # noqa: T201 - a command that reports


if __name__ == "__main__":
    main()
