"""Decides how texts of users and models are shown: character for character, never as markup.

Stored answers are untrusted. Markdown would fetch their images and hide what they say; raw HTML would run. So every
text is escaped, and what has no shape of its own (controls, zero-width marks, the marks that reverse the order of
letters) is shown by name. Nothing here decides anything about the text.
"""

from __future__ import annotations

import difflib
import html
import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import streamlit as st

MAX_SHOWN = 50_000
"""Characters shown at first: a browser takes seconds to lay out megabytes."""

MAX_COMPARED = 2_000
"""Words per side that are aligned; the search takes the square of it in the worst case."""

STYLE = """<style>
.sh-text{white-space:pre-wrap;overflow-wrap:anywhere;overflow:auto;border-radius:.5rem;
  padding:.6rem .8rem;border:1px solid color-mix(in srgb,currentColor 14%,transparent);
  font-size:.95rem;line-height:1.5;unicode-bidi:plaintext}
.sh-question{font-size:1.12rem;line-height:1.55}
.sh-empty{opacity:.55;font-style:italic}
.sh-text ins{background:#16a34a3d;text-decoration:none;border-radius:.2rem;padding:0 .1rem;
  box-shadow:inset 0 -2px #16a34a}
.sh-text del{background:#dc26263d;text-decoration:none;border-radius:.2rem;padding:0 .1rem;
  box-shadow:inset 0 -2px #dc2626}
.sh-mark{font-family:monospace;font-size:.72em;background:#f59e0b40;border-radius:.2rem;
  padding:0 .15rem;vertical-align:.1em}
.sh-space{opacity:.6}
.sh-head{margin-bottom:.25rem;font-size:.8rem;font-weight:600;letter-spacing:.03em;text-transform:uppercase;opacity:.72}
</style>"""

_NAMED = {"\t": "TAB", "\r": "CR", "\x00": "NUL", "\x1b": "ESC", "\xad": "SHY", "\ufeff": "BOM"}
_JOINERS = frozenset(
    "\u200c\u200d"
)  # they shape emoji and Persian words: a mark would tear them apart
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_ODD = re.compile(r"[^\n -~]")
_ODD_OR_BLANK = re.compile(r"[^!-~]")
_MARKDOWN = re.compile(r"([!-/:-@\[-`{-~])")


def show(head: str, text: str, *, height: str = "", empty: str = "(empty)", key: str = "") -> None:
    """Show a text as it is under a heading, scrolling beyond `height` (CSS); a very long one is cut, as is said."""
    is_long = len(text) > MAX_SHOWN
    shown = text[:MAX_SHOWN] if is_long and not st.session_state.get(f"whole-{key}") else text
    st.html(headed(head, box(escape(shown), height=height, empty=empty)))
    if is_long:
        st.checkbox(f"All {len(text):,} characters (now {len(shown):,})", key=f"whole-{key}")


def headed(head: str, markup: str) -> str:
    """A small heading above escaped text."""
    return f'<div class="sh-head">{html.escape(head)}</div>{markup}'


def box(markup: str, *, height: str = "", question: bool = False, empty: str = "(empty)") -> str:
    """A frame around escaped text."""
    style = f' style="height:{height}"' if height else ""
    body = markup or f'<span class="sh-empty">{empty}</span>'
    extra = " sh-question" if question else ""
    # tabindex: a box that scrolls must be reachable by keyboard
    return f'<div class="sh-text{extra}" dir="auto" tabindex="0"{style}>{body}</div>'


def escape(text: str, *, changed: bool = False) -> str:
    """HTML that shows exactly these characters. In a `changed` piece blanks and joiners become visible as well."""
    odd = _ODD_OR_BLANK if changed else _ODD
    return odd.sub(lambda found: _shown(found[0], changed), html.escape(text))


def compare(old: str, new: str) -> tuple[str, str]:
    """The two texts as HTML: what only the old one has in `<del>`, what only the new one has in `<ins>`.

    Compared by words, ideographs one by one; blanks count. Equal texts come back without marks.
    """
    before, after = _words(old), _words(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    left, right = escape("".join(before[:head])), escape("".join(after[:head]))
    middle_old, middle_new = before[head : len(before) - tail], after[head : len(after) - tail]
    for same, lost, gained in _aligned(middle_old, middle_new):
        if same:
            left, right = left + escape(lost), right + escape(gained)
        else:
            left, right = left + _tagged("del", lost), right + _tagged("ins", gained)
    end = escape("".join(before[len(before) - tail :])) if tail else ""
    return left + end, right + end


def plain(text: str) -> str:
    """Text for the places where Streamlit reads Markdown (messages, headings, badges)."""
    visible = "".join(c if c == "\n" or not _mark(c) else f"<{_mark(c)}>" for c in text)
    return _MARKDOWN.sub(r"\\\1", visible)


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[bool, str, str]]:
    """(is the same, old piece, new piece) in reading order."""
    if max(len(old), len(new)) > MAX_COMPARED:
        yield False, "".join(old), "".join(new)
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        yield what == "equal", "".join(old[i:j]), "".join(new[k:m])


def _common(a: list[str], b: list[str]) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _words(text: str) -> list[str]:
    """Runs of letters and digits, runs of blanks, and every other character by itself; joined they are the text."""
    return ["".join(run) for _, run in itertools.groupby(text, _Kind())]


class _Kind:
    """Key of `groupby`: equal for neighbours that belong together."""

    def __init__(self) -> None:
        self._count = itertools.count()

    def __call__(self, char: str) -> object:
        if char.isspace():
            return "blank"
        is_word = unicodedata.category(char)[0] in "LMN" or char in _JOINERS
        if is_word and not _IDEOGRAPHS.match(char):
            return "word"
        return next(self._count)


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text, changed=True)}</{tag}>" if text else ""


def _shown(char: str, changed: bool) -> str:
    if char in " \n":
        return f'<span class="sh-space">{"·" if char == " " else "↵"}</span>' + char.strip(" ")
    mark = _mark(char)
    if mark and (changed or char not in _JOINERS):
        return f'<span class="sh-mark">{mark}</span>' + ("\t" if char == "\t" else "")
    return char


@lru_cache(maxsize=8192)
def _mark(char: str) -> str:
    """The name of a character without a shape of its own; empty for all others."""
    if char == "\n" or " " <= char <= "~":
        return ""
    if char in _NAMED:
        return _NAMED[char]
    is_blank = unicodedata.category(char) in ("Zs", "Zl", "Zp") and char != "\u3000"
    if is_blank or unicodedata.category(char) in ("Cc", "Cf", "Cs"):
        return f"U+{ord(char):04X}"
    return ""
