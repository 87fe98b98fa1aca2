"""The pages by Streamlit's own test driver: what is on them, and what a button does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

import review_ui
from review_ui import state
from tests.review_ui import fake_data as data
from tests.review_ui.conftest import Running, free_port, served
from tests.review_ui.fake_data import NASTY
from tests.review_ui.fake_service import Fake

APP = Path(review_ui.__file__).with_name("app.py")
PAGES = ("curves", "lines", "entries", "quality", "overview", "audit")

pytestmark = pytest.mark.usefixtures("secrets_free")


@pytest.fixture(autouse=True)
def on_loopback() -> Iterator[None]:
    """As `surehit review` starts it."""
    before = config.get_option("server.address")
    config.set_option("server.address", "127.0.0.1")
    yield
    config.set_option("server.address", before)


def opened(running: Running, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("SUREHIT_URL", running.url)
    monkeypatch.delenv("SUREHIT_UI_KEY", raising=False)
    return AppTest.from_file(str(APP), default_timeout=20).run()


def signed_in(running: Running, monkeypatch: pytest.MonkeyPatch, name: str = "Ann") -> AppTest:
    at = opened(running, monkeypatch)
    at.text_input[0].set_value(name)
    at.button[0].click().run()
    assert not at.exception
    return at


def press(at: AppTest, words: str) -> AppTest:
    """A click on the button with these words, as if the item had been on the screen for a while."""
    desk: Any = at.session_state[state.STATE]
    desk.shown_ms = desk.pressed_ms = float("-inf")
    button = next(b for b in at.button if b.label == words)
    button.click().run()
    assert not at.exception
    return at


def progress_of(at: AppTest) -> tuple[float, str]:
    """How full the bar above the item is, and the two counts over it."""
    (bar,) = at.get("progress")
    return bar.proto.value / 100, " · ".join(bar.proto.text.split(" · ")[:2])


def tables_of(at: AppTest) -> str:
    """The rows of all written tables, as HTML."""
    return "".join(h.proto.body for h in at.get("html") if "<table>" in h.proto.body)


def words_of(at: AppTest) -> str:
    """Everything that Streamlit reads as Markdown on this page."""
    kinds = (at.markdown, at.caption, at.error, at.warning, at.success, at.info)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_a_name_opens_the_desk(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    at = signed_in(service, monkeypatch)
    assert {"Reusable", "Not reusable", "Unsure", "Skip", "Undo", "Guideline", "Flag"} <= {
        b.label for b in at.button
    }
    assert "uncertified" in words_of(at)


def test_a_verdict_is_sent_and_the_next_item_comes(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    first = at.session_state[state.STATE].item.item_id
    press(at, "Reusable")
    assert [(i, label["verdict"]) for i, label in service.fake.labels()] == [(first, "reusable")]
    assert at.session_state[state.STATE].item.item_id != first


def test_not_reusable_asks_for_its_reason(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = press(signed_in(service, monkeypatch), "Not reusable")
    assert service.fake.labels() == []
    press(at, "Negation")
    (_, label), *rest = service.fake.labels()
    assert (label["verdict"], label["reason"], rest) == ("not_reusable", "negation", [])


def test_back_leaves_the_reasons_without_a_verdict(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = press(press(signed_in(service, monkeypatch), "Not reusable"), "Back")
    assert service.fake.labels() == []
    assert "Reusable" in {b.label for b in at.button}


def test_undo_brings_the_last_item_back(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    at = signed_in(service, monkeypatch)
    first = at.session_state[state.STATE].item.item_id
    press(press(at, "Reusable"), "Undo")
    assert service.fake.labels() == []
    assert at.session_state[state.STATE].item.item_id == first


def test_the_header_counts_what_undo_took_back(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = press(signed_in(service, monkeypatch), "Reusable")
    assert progress_of(at) == (0.01, "1 by you today · 59 waiting")
    press(at, "Undo")
    assert progress_of(at) == (0.0, "0 by you today · 60 waiting")


def test_where_nothing_waits_and_nothing_was_done_the_bar_is_empty(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.fake.items.clear()
    at = signed_in(service, monkeypatch)
    assert progress_of(at) == (0.0, "0 by you today · 0 waiting")


def test_the_page_opens_on_the_line_with_most_items(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked once a session, not at each run; afterwards the reviewer's choice stands."""
    service.fake.lines = {n: service.fake.lines[n] for n in ("code", "search-zh", "support-faq")}
    at = signed_in(service, monkeypatch)
    assert at.selectbox(key=state.LINE).value == "support-faq"
    asked = service.fake.calls.count("GET /v1/review/progress")
    at.run()
    assert service.fake.calls.count("GET /v1/review/progress") == asked
    at.selectbox(key=state.LINE).set_value("code").run()
    at.run()
    assert at.selectbox(key=state.LINE).value == "code"


def test_one_of_the_last_verdicts_can_be_given_again(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    first = at.session_state[state.STATE].item.item_id
    for _ in range(3):
        press(at, "Reusable")
    next(b for b in at.button if b.key == f"again-{first}").click().run()
    assert at.session_state[state.STATE].item.item_id == first
    press(at, "Unsure")
    assert {i: label["verdict"] for i, label in service.fake.labels()}[first] == "unsure"
    assert len(service.fake.labels()) == 3


def test_a_flag_reaches_an_admin_and_the_item_stays(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    first = at.session_state[state.STATE].item.item_id
    press(at, "Flag")
    at.text_input(key=state.FLAG_NOTE).set_value("looks like spam")
    next(b for b in at.button if b.label == "Tell").click().run()
    assert service.fake.items[first].flags[0]["note"] == "looks like spam"
    assert at.session_state[state.STATE].item.item_id == first


def test_an_empty_queue_says_so_and_the_last_verdict_can_still_be_taken_back(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only, item), *_ = service.fake.items.items()
    service.fake.items = {only: item}
    at = press(signed_in(service, monkeypatch), "Reusable")
    assert "Nothing is waiting" in at.success[0].value
    press(at, "Undo")
    assert service.fake.labels() == []
    assert at.session_state[state.STATE].item.item_id == only


def test_an_item_that_is_gone_is_told_and_the_next_one_comes(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    first = at.session_state[state.STATE].item.item_id
    del service.fake.items[first]
    press(at, "Reusable")
    assert "dropped" in at.warning[0].value
    assert at.session_state[state.STATE].item.item_id != first


def test_two_presses_at_once_are_one(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    at = press(signed_in(service, monkeypatch), "Reusable")
    next(b for b in at.button if b.label == "Reusable").click().run()
    assert len(service.fake.labels()) == 1


def test_score_round_and_sampling_are_hidden_before_the_verdict(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    item = at.session_state[state.STATE].item.item_id
    shown = "".join(h.proto.body for h in at.get("html")) + words_of(at)
    assert f"{service.fake.items[item].score:.3f}" not in shown
    press(at, "Reusable")
    shown = "".join(h.proto.body for h in at.get("html"))
    assert f"{service.fake.items[item].score:.3f}" in shown


def test_no_text_of_others_is_read_as_markdown(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items, recent verdicts, entries and messages with markup in them."""
    service.fake.items = {k: v for k, v in service.fake.items.items() if NASTY in v.shown["query"]}
    for entry in service.fake.entries.values():
        entry["query"] = entry["tags"][0] = NASTY
    at = press(signed_in(service, monkeypatch), "Reusable")
    assert "![x]" not in words_of(at)
    html = "".join(h.proto.body for h in at.get("html"))
    assert "<script>document" not in html
    assert "&lt;script&gt;document" in html
    at.switch_page("views/entries.py").run()
    assert "![x]" not in words_of(at)


def test_leaving_the_page_gives_the_item_back(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    assert any(i.lease_by == "Ann" for i in service.fake.items.values())
    at.switch_page("views/overview.py").run()
    assert not any(i.lease_by for i in service.fake.items.values())


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_drawn(name: str, service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    at = signed_in(service, monkeypatch)
    at.switch_page(f"views/{name}.py").run()
    assert not at.exception
    assert not at.error
    assert "uncertified" in words_of(at)


@pytest.mark.parametrize("name", ["review", *PAGES])
def test_every_page_says_when_the_service_is_down(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(Fake()) as running:
        at = signed_in(running, monkeypatch)
    monkeypatch.setenv("SUREHIT_URL", f"http://127.0.0.1:{free_port()}")
    at.session_state[state.STATE].forget_item()
    at.switch_page(f"views/{name}.py").run()
    assert not at.exception
    assert "does not answer" in at.error[0].value


def test_audit_shows_four_layers_and_no_total(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its own share and unit, risk and next step; what is not known is a dash and not zero."""
    at = signed_in(service, monkeypatch)
    at.switch_page("views/audit.py").run()
    shown = [(m.label, m.value) for m in at.metric]
    assert shown == [
        ("Exact tier", "31.0 %"),
        ("Semantic tier", "12.0 %"),
        ("Provider's prompt cache", "0.0 %"),
        ("Shared prefixes (KV)", "–"),
    ]
    html = "".join(h.proto.body for h in at.get("html"))
    assert html.count("Next step") == html.count("Risk") == 4
    assert "<script>document" not in html
    words = words_of(at)
    assert "saved -0.5000 USD" in words
    assert "saved 12.5000 USD" in words
    assert "total" not in words.lower()
    assert "variable timestamp" in tables_of(at)
    assert len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart")) == 1


def test_a_curve_is_drawn_or_there_is_none(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imported labels alone draw nothing: a curve is over logged lookups."""
    curve = data.curve_of

    def imported(line: dict[str, Any], saved: float, wrong: float) -> dict[str, Any]:
        return curve(line, saved, wrong) | {"is_pilot": True, "lookups": lookups}

    monkeypatch.setattr(data, "curve_of", imported)
    at = signed_in(service, monkeypatch)
    for lookups in (0, 200):
        at.switch_page("views/curves.py").run()
        assert ("so there is no curve" in words_of(at)) == (lookups == 0)
        assert ("The curve is drawn from imported" in words_of(at)) == (lookups == 200)


def test_no_line_is_said_to_be_set_by_hand(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most are created by their first lookup; what is known is whether a certificate stands behind them."""
    at = signed_in(service, monkeypatch)
    at.switch_page("views/lines.py").run()
    shown = tables_of(at) + words_of(at) + "".join(b.proto.help for b in at.markdown)
    assert "0.950, no certificate" in shown
    assert "0.930, on a certificate" in shown
    assert "by hand" not in shown


def test_cells_of_tables_are_no_markup(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    service.fake.lines["support-faq"]["changes"] = [
        {"at_ms": 0, "by": NASTY, "reason": NASTY, "before": None, "after": {"mode": "off"}}
    ]
    at = signed_in(service, monkeypatch)
    at.switch_page("views/lines.py").run()
    assert "&lt;script&gt;document" in tables_of(at)
    assert "<script>document" not in tables_of(at)


def test_a_threshold_is_applied_with_a_reason_and_rolled_back(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    at.switch_page("views/curves.py").run()
    for decision, threshold in (("dec_2", 0.91), ("dec_1", 0.93)):
        next(s for s in at.selectbox if s.label == "Decision").set_value(decision)
        at.text_input[0].set_value("for the test")
        next(b for b in at.button if b.label == "Apply").click().run()
        assert service.fake.lines["support-faq"]["threshold"] == threshold
        assert service.fake.events[0]["reason"] == "for the test"
        assert "certified" in words_of(at)


def test_a_threshold_is_not_applied_without_a_reason(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    at.switch_page("views/curves.py").run()
    next(b for b in at.button if b.label == "Apply").click().run()
    assert service.fake.events == []
    assert "Say why" in at.error[0].value


def test_tuning_without_enough_labels_says_how_many(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    at.switch_page("views/curves.py").run()
    at.number_input[0].set_value(0.004)
    next(b for b in at.button if b.label == "Tune").click().run()
    assert "640 more labels" in at.warning[0].value


def test_a_threshold_set_by_hand_is_called_uncertified(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    at.selectbox[0].set_value("code").run()
    at.switch_page("views/lines.py").run()
    next(n for n in at.number_input if n.label == "Threshold").set_value(0.97)
    next(t for t in at.text_input if t.label == "Why").set_value("a try")
    next(b for b in at.button if b.label == "Change").click().run()
    assert service.fake.lines["code"]["threshold"] == 0.97
    assert "uncertified" in at.success[0].value


def test_near_misses_are_promoted_where_a_line_is_told_so(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = signed_in(service, monkeypatch)
    at.switch_page("views/lines.py").run()
    next(c for c in at.checkbox if c.label == "Promote reviewed near misses").check()
    next(t for t in at.text_input if t.label == "Why").set_value("a try")
    next(b for b in at.button if b.label == "Change").click().run()
    assert service.fake.lines["support-faq"]["promote"] is True
    assert service.fake.lines["support-faq"]["threshold"] == 0.95
    assert service.fake.lines["code"]["promote"] is False


def test_a_dispute_is_settled(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    item = next(iter(service.fake.items.values()))
    item.state = "disputed"
    item.labels = [
        {"reviewer": "Bo", "verdict": "reusable", "reason": None, "note": None, "at_ms": 1},
        {"reviewer": "Cy", "verdict": "not_reusable", "reason": "stale", "note": None, "at_ms": 2},
    ]
    at = signed_in(service, monkeypatch)
    at.switch_page("views/quality.py").run()
    assert "out of date" in "".join(h.proto.body for h in at.get("html"))
    next(b for b in at.button if b.label == "Settle").click().run()
    assert item.state == "done"


def test_a_wrong_key_is_refused_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Fake(key="sh_right")) as running:
        at = opened(running, monkeypatch)
        at.text_input[0].set_value("Ann")
        at.text_input[1].set_value("sh_wrong")
        at.button[0].click().run()
        assert "API key" in at.error[0].value
        at.text_input[0].set_value("Ann")
        at.text_input[1].set_value("sh_right")
        at.button[0].click().run()
        assert at.session_state[state.STATE].signed_in.name == "Ann"
        assert "sh_right" not in repr(at.session_state[state.STATE])


def test_a_page_for_other_machines_does_not_lend_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    config.set_option("server.address", "0.0.0.0")
    with served(Fake(key="sh_right")) as running:
        monkeypatch.setenv("SUREHIT_URL", running.url)
        monkeypatch.setenv("SUREHIT_UI_KEY", "sh_right")
        at = AppTest.from_file(str(APP), default_timeout=20).run()
        at.text_input[0].set_value("Mallory")
        at.button[0].click().run()
        assert "API key is needed" in at.error[0].value
        assert at.session_state[state.STATE].signed_in is None


def test_a_page_for_other_machines_needs_a_service_with_keys(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.set_option("server.address", "0.0.0.0")
    at = opened(service, monkeypatch)
    at.text_input[0].set_value("Mallory")
    at.text_input[1].set_value("anything")
    at.button[0].click().run()
    assert "proves nothing" in at.error[0].value


def test_without_the_proxys_header_nobody_comes_in(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREHIT_UI_USER_HEADER", "X-Forwarded-User")
    at = opened(service, monkeypatch)
    assert "header" in at.error[0].value
    assert not at.text_input
