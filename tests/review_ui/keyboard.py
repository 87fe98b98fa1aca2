"""What a reviewer's hands do, and how long the page takes to follow.

`python -m tests.review_ui.keyboard http://127.0.0.1:8501 --presses 50` measures a running page: seconds from the key
press until the next question is on the screen. It gives verdicts, so run it on data that nobody needs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from typing import Any

QUESTION = ".sh-question"
IDLE = "[data-test-script-state=notRunning]"
"""The page has drawn everything: its keys mean the item on the screen."""

# Waits in the browser itself, frame by frame: asking from outside would add its own round trips.
PRESS_AND_WAIT = """async ([selector, before]) => {
  const began = performance.now();
  return await new Promise((done, failed) => {
    const look = () => {
      const shown = document.querySelector(selector);
      const now = shown && !shown.closest("[data-stale=true]") ? shown.innerText : null;
      if (now && now !== before) return done(performance.now() - began);
      if (performance.now() - began > 15000) return failed(new Error("no next item within 15 s"));
      requestAnimationFrame(look);
    };
    look();
  });
}"""


def sign_in(tab: Any, address: str, name: str) -> Any:
    """Open the page under a name; the tab."""
    tab.goto(address)
    tab.get_by_role("textbox", name="Your name").fill(name)
    tab.keyboard.press("Enter")
    tab.locator(QUESTION).first.wait_for()
    return tab


def settled(tab: Any, *, after: str | None = None) -> str:
    """The question on the screen, once it is another one than `after` and the keys are ready for it."""
    if after is not None:
        tab.evaluate(PRESS_AND_WAIT, [QUESTION, after])
    tab.locator(IDLE).wait_for()
    time.sleep(0.3)  # the page ignores presses on what has only just appeared
    shown: str = tab.locator(QUESTION).first.inner_text()
    return shown


def measure(tab: Any, *, presses: int) -> list[float]:
    """Milliseconds from key press to next item, ascending."""
    times_ms = []
    for _ in range(presses):
        before = settled(tab)
        waiting = "window.surehitWaited = (" + PRESS_AND_WAIT + ")"
        tab.evaluate(f"([s, b]) => {{ {waiting}([s, b]); }}", [QUESTION, before])
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
    options = parser.parse_args()
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        times_ms = measure(sign_in(tab, options.address, "bench"), presses=options.presses)
        browser.close()
    p95 = times_ms[min(len(times_ms) - 1, round(0.95 * len(times_ms)))]
    found = {"presses": len(times_ms), "median_ms": statistics.median(times_ms), "p95_ms": p95}
    print(json.dumps(found))  # noqa: T201 - a command that reports


if __name__ == "__main__":
    main()
