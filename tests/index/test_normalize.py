"""What normalisation folds together, and what it must keep apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.normalize import cjk_share, is_blank, normalize

SAME = [
    ("How do I reset my password?", "how do i reset my password"),
    ("How do I reset my password?", "Hi, could you please tell me how do I reset my password?!"),
    ("How  do\tI reset my password ?", "how do i reset my password"),
    ("Please translate this", "translate this"),
    ("Can you please translate this", "translate this"),
    ("I'd like to know when you open.", "when you open"),
    ("I’d like to know when you open", "when you open"),
    ("Ｗｈａｔ ｉｓ ＡＰＩ？", "what is api"),
    ("你好，请问怎么退款？", "怎么退款"),
    ("您好 请问一下怎么退款", "怎么退款！"),
    ("我想问一下怎么退款。", "怎么退款"),
    ("ﾊﾟｽﾜｰﾄﾞ", "パスワード"),
    ("for x in y:\n  print(x)", "for x in y:\n    print(x)"),
    ("a\r\nb", "a\nb"),
    ("what is 2⁵", "what is 2^5"),
    ("10⁻¹²", "10^-12"),
    ("1½ cups", "1 1/2 cups"),
    ("5 ㎡", "5 m²"),
]

DIFFERENT = [
    ("what is 2⁵", "what is 25"),
    ("what is 10⁻³", "what is 10-3"),
    ("1½ cups", "11/2 cups"),
    ("1½ cups", "112 cups"),
    ("area in ㎡", "area in m2"),
    ("what is 5!", "what is 5"),
    ("git add .", "git add"),
    ("cd ~", "cd"),
    ("hello world in C", "world in C"),
    ("do you know Python", "Python"),
    ("请假流程", "假流程"),
    ("你好用英语怎么说", "用英语怎么说"),
    ("-5 degrees", "5 degrees"),
    ("C++", "C"),
    ("if x:\n    foo()\n    bar()", "if x:\n    foo()\nbar()"),
    ("if x:\n    foo()", "if x:\nfoo()"),
    ("1.5", "15"),
    ("3 > 2", "3 < 2"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_spellings_without_a_difference_in_meaning_become_one(a: str, b: str) -> None:
    assert normalize(a) == normalize(b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_spellings_that_differ_in_meaning_stay_apart(a: str, b: str) -> None:
    assert normalize(a) != normalize(b)


_PIECES = st.lists(
    st.sampled_from(
        ["hi", "please ", "tell me ", "how", "请问", "你好", ", ", "!", "?", " ", "\n", "\n    ",
         "→ ", "5", "İ", "ﬁ", "ﾊ", "ﾟ", "ß", "⁵", "\u0345", "\x00", "\ud800", "a"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(max_size=60), _PIECES))
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.one_of(st.text(max_size=60), _PIECES))
def test_a_text_never_becomes_blank_by_being_normalised(text: str) -> None:
    assert is_blank(text) or not is_blank(normalize(text))


@given(st.text(max_size=60))
def test_the_result_can_always_be_encoded(text: str) -> None:
    """The tokenisers are written in Rust and take only what UTF-8 can say."""
    normalize(text).encode("utf-8")


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\x00", "???", "。", "\n\t", "--", "\ufe0f"])
def test_text_without_letter_digit_or_symbol_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "5", "中", "🎉", "+", "½", "⁵"])
def test_one_letter_digit_or_symbol_is_enough(text: str) -> None:
    assert not is_blank(text)


def test_cjk_share_counts_letters_and_digits_only() -> None:
    assert cjk_share("") == 0.0
    assert cjk_share("hello 你好!!") == pytest.approx(2 / 7)
    assert cjk_share("怎么退款？") == 1.0
    assert cjk_share("🎉") == 0.0
