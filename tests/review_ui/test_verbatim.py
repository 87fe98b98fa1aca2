"""Texts are shown character for character and never become markup."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui import verbatim
from tests.review_ui.fake_data import NASTY

TEXTS = st.text(max_size=60) | st.text(alphabet="ab \n<>&\"'\t一二\u202e\u200d", max_size=40)
VISIBLE = st.text(
    alphabet=st.characters(exclude_categories=["C", "Z"], exclude_characters="·↵"), max_size=40
)
OURS = {"span", "ins", "del"}


class Seen(HTMLParser):
    """What a browser would make of it: the tags, and the text outside of our own marks."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self.changed = ""
        self._open: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._open.append(dict(attrs).get("class") or tag)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if "sh-mark" in self._open:
            return
        if "sh-space" in self._open:
            data = " " if data == "·" else ""
        self.text += data
        if {"ins", "del"} & set(self._open):
            self.changed += data


def without_marked(text: str) -> str:
    """The text without the characters that are shown by name (a tab's width is kept)."""
    return "".join(c for c in text if c == "\t" or not verbatim._mark(c) or c in verbatim._JOINERS)


@given(TEXTS)
def test_no_text_becomes_markup(text: str) -> None:
    seen = Seen(verbatim.escape(text))
    assert seen.tags <= {"span"}
    assert seen.text == without_marked(text)


@given(TEXTS, TEXTS)
def test_both_sides_of_a_comparison_keep_their_text(old: str, new: str) -> None:
    left, right = (Seen(side) for side in verbatim.compare(old, new))
    assert (left.tags | right.tags) <= OURS
    assert "ins" not in left.tags
    assert "del" not in right.tags
    for seen, text in ((left, old), (right, new)):
        marked = {c for c in text if verbatim._mark(c)}
        assert [c for c in seen.text if c not in marked] == [c for c in text if c not in marked]


@given(VISIBLE, VISIBLE)
def test_what_is_not_marked_is_the_same_on_both_sides(old: str, new: str) -> None:
    left, right = verbatim.compare(old, new)
    same_left = re.sub("<del>.*?</del>", "", left)
    same_right = re.sub("<ins>.*?</ins>", "", right)
    assert same_left == same_right


@given(TEXTS)
def test_equal_texts_bear_no_mark_of_change(text: str) -> None:
    left, right = verbatim.compare(text, text)
    assert left == right == verbatim.escape(text)


def test_words_differ_as_wholes() -> None:
    left, right = verbatim.compare("export 31 invoices", "export 30 invoices")
    assert left == "export <del>31</del> invoices"
    assert right == "export <ins>30</ins> invoices"


def test_chinese_differs_by_character() -> None:
    left, right = verbatim.compare("怎样更改密码", "怎样修改密码")
    assert left == "怎样<del>更</del>改密码"
    assert right == "怎样<ins>修</ins>改密码"


def test_words_with_vowel_signs_stay_whole() -> None:
    left, _ = verbatim.compare("हिन्दी भाषा", "हिन्दी शब्द")
    assert left == "हिन्दी <del>भाषा</del>"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a b", "a  b", "··"),
        ("a\nb", "a\n\nb", "↵"),
        ("a b", "a\tb", "TAB"),
        ("ab", "a\u200bb", "U+200B"),
    ],
)
def test_a_difference_of_blanks_is_visible(old: str, new: str, shown: str) -> None:
    _, right = verbatim.compare(old, new)
    assert shown in re.sub("<[^>]*>", "", right)
    assert "<ins>" in right


def test_marks_that_reverse_letters_are_shown_by_name() -> None:
    assert "U+202E" in verbatim.escape("\u202etxt.exe")
    assert "\u202e" not in verbatim.escape("\u202etxt.exe")


def test_an_emoji_of_several_parts_stays_whole() -> None:
    assert verbatim.escape("👩‍👧") == "👩‍👧"


def test_a_lone_surrogate_can_be_sent_to_the_browser() -> None:
    verbatim.escape("a\ud800b").encode()


def test_long_texts_are_compared_in_reasonable_time() -> None:
    old = " ".join(f"word{n}" for n in range(40_000))
    began = time.perf_counter()
    left, right = verbatim.compare(old, old.replace("word20000 ", "other "))
    assert time.perf_counter() - began < 5
    assert "<del>word20000</del>" in left
    assert "<ins>other</ins>" in right


def test_text_for_markdown_keeps_no_sign_with_a_meaning() -> None:
    assert not re.search(r"(?<!\\)[!\[\]()*_<>`$#]", verbatim.plain(NASTY))
