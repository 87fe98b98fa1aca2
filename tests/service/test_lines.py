"""A line's configuration: ranges, names of bad fields, partial changes, voided decisions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from service import lines
from service.errors import InvalidRequest, NotFound
from service.lines import LineConfig, LineRecord
from service.policy import LineChange

BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"mode": "on"}, "mode", "on"),
    ({"threshold": 1.01}, "threshold", "1.0"),
    ({"threshold": "0.9"}, "threshold", "float"),
    ({"threshold": None}, "threshold", "float"),
    ({"threshold": float("nan")}, "threshold", ""),
    ({"language": "de"}, "language", "de"),
    ({"target_false_hit_rate": 0}, "target_false_hit_rate", "0.0"),
    ({"confidence": 1}, "confidence", "0.9999"),
    ({"ttl_s": 0}, "ttl_s", "0.0"),
    ({"ttl_s": -1}, "ttl_s", "0.0"),
    ({"ttl_s": float("inf")}, "ttl_s", ""),
    ({"policy_version": ""}, "policy_version", "1"),
    ({"policy_version": "a\nb"}, "policy_version", ""),
    ({"guards": {"no_such": True}}, "guards.no_such", "known are"),
    ({"rules": {"no_such": True}}, "rules.no_such", "known are"),
    ({"guards": {"number": "off"}}, "guards", "bool"),
    ({"limits": {"max_candidates": 0}}, "limits.max_candidates", "1"),
    ({"limits": {"max_candidates": 9}}, "limits.max_candidates", "8"),
    ({"limits": {"max_candidate": 2}}, "limits.max_candidate", "not a known field"),
    ({"sampling": {"certify_rate": 2}}, "sampling.certify_rate", "1.0"),
    ({"sampling": {"bin_edges": [0.9, 0.8]}}, "sampling", "length"),
    ({"sampling": {"certify_floor": 0.1}}, "sampling", "floor"),
    ({"thresold": 0.9}, "thresold", "not a known field"),
    ({"inert_fields": [""]}, "inert_fields[0]", ""),
    ({"inert_fields": ["trace", "messages"]}, "inert_fields", "messages"),
    ({"inert_fields": ["tools", "prompt"]}, "inert_fields", "prompt, tools"),
]


@pytest.mark.parametrize(("given", "field", "words"), BAD, ids=lambda v: str(v)[:40])
def test_each_bad_field_is_named_with_its_range(
    given: dict[str, Any], field: str, words: str
) -> None:
    for base in (None, LineConfig()):
        with pytest.raises(InvalidRequest) as caught:
            lines.parse(given, base=base)
        error = caught.value.errors[0]
        assert error.field.startswith(field), error
        assert words in error.message
        assert error.field in caught.value.detail


def test_every_bad_field_is_named_at_once_and_choices_are_listed() -> None:
    bad = {"threshold": 1.5, "mode": "servee", "ttl_s": -1, "guards": {"number": "off", "unit": 3}}
    with pytest.raises(InvalidRequest) as caught:
        lines.parse(bad)
    told = {error.field: error.message for error in caught.value.errors}
    assert list(told) == ["threshold", "mode", "ttl_s", "guards.number", "guards.unit"]
    assert told["threshold"].endswith("(allowed: at least -1.0 and at most 1.0)")
    assert told["ttl_s"].endswith("(allowed: over 0.0 and at most 315360000.0)")
    assert told["mode"] == "must be one of exact, off, serve, shadow, not 'servee'"


def test_a_choice_that_is_no_word_is_told_what_it_is() -> None:
    with pytest.raises(InvalidRequest) as caught:
        lines.parse({"mode": 5})
    message = caught.value.errors[0].message
    assert message == "Expected `str`, got `int` (allowed: exact, off, serve, shadow)"


def test_the_range_of_a_nested_setting_is_told() -> None:
    bad = {"limits": {"max_candidates": 9}, "sampling": {"explore_rates": [0.1, 2]}}
    with pytest.raises(InvalidRequest) as caught:
        lines.parse(bad)
    told = {error.field: error.message for error in caught.value.errors}
    assert told["limits.max_candidates"].endswith("(allowed: at least 1 and at most 8)")
    assert told["sampling.explore_rates[1]"].endswith("(allowed: at least 0.0 and at most 1.0)")


def test_null_takes_switches_and_patterns_back_to_their_defaults() -> None:
    base = lines.parse(
        {"patterns": {"volatile": ["score"]}, "guards": {"number": False, "unit": False}}
    )
    changed = lines.parse({"patterns": None, "guards": {"number": None}}, base=base)
    assert (changed.patterns, changed.guards) == ({}, {"unit": False})
    assert lines.parse({"rules": None, "guards": None}, base=base).guards == {}


@pytest.mark.parametrize("given", [None, [], "x", 7])
def test_settings_must_be_an_object(given: Any) -> None:
    with pytest.raises(InvalidRequest):
        lines.parse(given)


def test_defaults_are_those_of_a_new_line() -> None:
    """Nothing is served by meaning before somebody decides so."""
    assert lines.parse({}) == LineConfig()
    assert LineConfig().mode == "shadow"


def test_patch_merges_groups_and_put_replaces_them() -> None:
    base = lines.parse(
        {
            "limits": {"max_candidates": 3, "max_entries": 9},
            "guards": {"number": False},
            "ttl_s": 60,
            "inert_fields": ["a"],
        }
    )
    patched = lines.parse(
        {"limits": {"max_entries": None}, "guards": {"negation": False}, "inert_fields": []},
        base=base,
    )
    assert (patched.limits.max_candidates, patched.limits.max_entries) == (3, None)
    assert patched.guards == {"number": False, "negation": False}
    assert (patched.ttl_s, patched.inert_fields) == (60, [])
    assert lines.parse({"ttl_s": None}, base=base).ttl_s is None
    put = lines.parse({"limits": {"max_entries": 5}})
    assert (put.limits.max_candidates, put.ttl_s) == (8, None)
    assert not put.guards


def test_switched_guards_and_rules() -> None:
    config = lines.parse({"guards": {"number": False}, "rules": {"volatile": False}})
    assert "number" not in config.enabled_guards
    assert "negation" in config.enabled_guards
    assert "volatile" not in config.enabled_rules
    assert LineConfig().enabled_rules - config.enabled_rules == {"volatile"}


def test_record_survives_its_stored_form() -> None:
    record = LineRecord(config=lines.parse({"threshold": 0.91, "ttl_s": 5}), decision_id=2**62)
    assert lines.record_from_json(lines.record_to_json(record)) == record


VOIDING = {
    "threshold": 0.8,
    "language": "multi",
    "embedder": "other",
    "policy_version": "2",
    "guards": {"number": False},
    "rules": {"volatile": False},
}


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("field", VOIDING)
def test_a_change_of_what_a_decision_rests_on_voids_it(field: str, partial: bool) -> None:
    before = LineRecord(config=LineConfig(threshold=0.93), decision_id=7)
    settings = {"threshold": 0.93} | {field: VOIDING[field]}
    after = LineChange(settings, partial).apply(before)
    assert after.decision_id is None


@pytest.mark.parametrize(
    "settings", [{}, {"mode": "serve"}, {"ttl_s": 5}, {"sampling": {"guarded_rate": 0.5}}]
)
def test_other_changes_keep_the_decision(settings: dict[str, Any]) -> None:
    before = LineRecord(config=LineConfig(threshold=0.93), decision_id=7)
    assert LineChange(settings, True).apply(before).decision_id == 7
    assert LineChange(settings | {"threshold": 0.93}, False).apply(before).decision_id == 7


def test_patch_of_an_unknown_line_is_refused() -> None:
    with pytest.raises(NotFound):
        LineChange({}, True).apply(None)


@pytest.mark.parametrize("name", ["a", "a/b:c", "北京", "o'neil", "x" * 128, "{x}", "a b"])
def test_usable_names(name: str) -> None:
    assert lines.check_name("line", name) == name


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "\x00", "x" * 129, None, 7, "\x7f"])
def test_unusable_names(name: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        lines.check_name("line", name)
    assert caught.value.errors[0].field == "line"


def test_every_range_is_in_the_message() -> None:
    """msgspec's own words are kept: they name the limit."""
    with pytest.raises(InvalidRequest, match=r"threshold: .*<= 1\.0"):
        lines.parse({"threshold": 3})
    assert msgspec.json.schema(LineConfig)["$defs"]["LineConfig"]["properties"]["threshold"]
