"""Cutting a text for replay."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from service.wire.pieces import pieces
from tests.service.wire.streams import texts


@given(texts())
@example("def f():\n    return 1\n\n第二段：👩‍👩‍👧 ok")
def test_pieces_put_together_are_the_text(text):
    assert text == "".join(pieces(text))


@given(texts())
@example("क्ष" * 20)
@example("각" * 40)
@example("🇩🇪" * 40)
@example("x" + "🇩🇪" * 40)
@example("👍🏽" * 40)
@example("กำ" * 40)
def test_no_character_as_seen_is_split(text):
    """Against the grapheme clusters of the `regex` package (UAX 29)."""
    regex = pytest.importorskip("regex")
    clusters = regex.findall(r"\X", text)
    boundaries, at = {0}, 0
    for cluster in clusters:
        at += len(cluster)
        boundaries.add(at)

    at = 0
    for piece in pieces(text):
        at += len(piece)
        assert at in boundaries


@given(texts(min_size=1))
def test_no_piece_is_empty(text):
    assert all(pieces(text))


def test_a_long_text_is_cut_behind_white_space():
    text = "one two three four five six seven eight nine ten eleven twelve " * 5

    assert all(piece.endswith(" ") for piece in pieces(text))


def test_a_very_long_text_has_a_bounded_number_of_pieces():
    count = sum(1 for _ in pieces("word " * 10_000))

    assert 20 < count < 110
