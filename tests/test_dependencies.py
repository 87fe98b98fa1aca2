"""What is installed with Surehit: pinned, consistent, and under licences that its own allows beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"

COPYLEFT = re.compile(
    r"affero|agpl|server side public|sspl|(?<!lesser )general public|(?<!l)gpl", re.IGNORECASE
)
"""Licences that would bind whoever ships or serves Surehit. The Lesser GPL binds changes of the library alone."""

UNSAID = {"hnswlib"}
"""Without a word in their metadata: Apache 2.0, by the licence file of its sources."""


def pinned() -> set[str]:
    """Names with an exact version in the constraints."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    assert all([spec.operator for spec in pin.specifier] == ["=="] for pin in pins)
    return {canonicalize_name(pin.name) for pin in pins}


def installed_with(name: str) -> dict[str, Distribution]:
    """A distribution and all that it requires here, extras that somebody asks for included."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(name, ())]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        if (item := waiting.pop()) in seen:
            continue
        seen.add(item)
        one, extras = item
        found[one] = distribution(one)
        waiting += [
            (canonicalize_name(needed.name), tuple(sorted(needed.extras)))
            for needed in _needed(found[one], extras)
        ]
    return found


def _needed(one: Distribution, extras: tuple[str, ...]) -> Iterator[Requirement]:
    for text in one.requires or []:
        needed = Requirement(text)
        if needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            yield needed


def licence_of(one: Distribution) -> str:
    """What the distribution says of its licence: the expression, the classifiers, or the field's first line."""
    expression = one.metadata.get("License-Expression") or ""
    classifiers = [
        text for text in one.metadata.get_all("Classifier") or [] if text.startswith("License ::")
    ]
    field = (one.metadata.get("License") or "").strip().splitlines()
    return "; ".join([expression, *classifiers] if expression or classifiers else field[:1])


def test_everything_that_is_installed_is_pinned_and_fits() -> None:
    """As `pip check`, and an audit of the constraints (`pip-audit -r constraints.txt`) misses none of it."""
    closure = installed_with("surehit")
    assert len(closure) > 30
    assert closure.keys() - pinned() == {"surehit"}
    for name, one in closure.items():
        for needed in _needed(one, ()):
            version = distribution(needed.name).version
            assert needed.specifier.contains(version, prereleases=True), f"{name}: {needed}"


def test_no_licence_binds_those_who_serve_it() -> None:
    """Of several that one may choose from («MIT OR GPL»), one that does not is enough."""
    for name, one in installed_with("surehit").items():
        assert licence_of(one) or name in UNSAID, name
        choices = re.split(r"\s+OR\s+", licence_of(one))
        assert not all(COPYLEFT.search(choice) for choice in choices), (name, licence_of(one))


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("GPL-3.0-only", True),
        ("AGPL-3.0", True),
        ("License :: OSI Approved :: GNU General Public License v2 (GPLv2)", True),
        ("LGPL-3.0-only", False),
        ("GNU Lesser General Public License v3", False),
        ("MIT", False),
    ],
)
def test_copyleft_is_recognised(text: str, binds: bool) -> None:
    assert bool(COPYLEFT.search(text)) is binds
