"""Each kind of difference, by rule: what is changed is refused, what is only written otherwise is kept."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.guards import judge

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "fresh_pairs.jsonl").read_text("utf-8").splitlines()
]
FRAMES_EN = st.sampled_from(
    ["Is {} enough for a week?", "What can I buy for {}?", "Who gets {}?", "Why do I need {}?"]
)
FRAMES_ZH = st.sampled_from(["{}够用吗？", "{}可以买什么？", "为什么需要{}？", "{}怎么办理？"])
NUMBERS = st.integers(2, 99_999)
TENS = {2: "twenty", 3: "thirty", 4: "forty", 6: "sixty", 7: "seventy", 9: "ninety"}
DIGITS_ZH = dict(enumerate("零一二三四五六七八九"))
CITIES = ["Oslo", "Turin", "Quito", "Perth", "Lagos", "Hanoi"]
CITIES_ZH = ["北京", "大连", "昆明", "拉萨", "青岛", "厦门"]
TWO = st.permutations(range(6)).map(lambda order: order[:2])


def share(language: str, *, reusable: bool) -> float:
    """Share of the fresh pairs of one language and label that are judged right."""
    rows = [
        pair
        for pair in PAIRS
        if pair["reusable"] == reusable and (not pair["a"].isascii()) == (language == "zh")
    ]
    right = [pair for pair in rows if (judge(pair["a"], pair["b"]) is None) == reusable]
    return len(right) / len(rows)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fresh_pairs_are_judged_at_least_as_well_as_measured(language: str) -> None:
    """Pairs written before the rules of version 2; half of them were not looked at meanwhile."""
    assert share(language, reusable=False) >= 0.95
    assert share(language, reusable=True) >= 0.93


@settings(deadline=None)
@given(FRAMES_EN, FRAMES_ZH, NUMBERS, NUMBERS, st.sampled_from(["", "$", "€", "v"]))
def test_another_number_is_refused(en: str, zh: str, a: int, b: int, sign: str) -> None:
    """Whatever the frame and the sign before it, in both languages."""
    if a != b:
        assert judge(en.format(f"{sign}{a}"), en.format(f"{sign}{b}")) is not None
        assert judge(zh.format(f"{a}元"), zh.format(f"{b}元")) is not None


@settings(deadline=None)
@given(FRAMES_EN, FRAMES_ZH, st.integers(1_000, 9_999_999))
def test_a_number_with_thousands_signs_is_kept(en: str, zh: str, number: int) -> None:
    """1,234,567 is 1234567."""
    assert judge(en.format(f"{number} crates"), en.format(f"{number:,} crates")) is None
    assert judge(zh.format(f"{number}元"), zh.format(f"{number:,}元")) is None


@given(FRAMES_EN, FRAMES_ZH, st.sampled_from(sorted(TENS)), st.integers(2, 9))
def test_a_number_in_words_is_kept(en: str, zh: str, tens: int, ones: int) -> None:
    """forty-two is 42, and 四十二 is, too."""
    digits = 10 * tens + ones
    words = "two three four five six seven eight nine".split()[ones - 2]
    assert judge(en.format(f"{digits} crates"), en.format(f"{TENS[tens]}-{words} crates")) is None
    spelled = f"{DIGITS_ZH[tens]}十{DIGITS_ZH[ones]}"
    assert judge(zh.format(f"{digits}元"), zh.format(f"{spelled}元")) is None


@given(FRAMES_EN, FRAMES_ZH, st.integers(2, 90))
def test_a_length_in_another_unit_is_kept_if_equal_and_else_refused(
    en: str, zh: str, km: int
) -> None:
    """3 km is 3000 m, and is not 3 miles nor 3 m."""
    length = en.format(f"{km} km of rope")
    assert judge(length, en.format(f"{km * 1000} m of rope")) is None
    assert judge(length, en.format(f"{km} miles of rope")) is not None
    assert judge(zh.format(f"{km}公里"), zh.format(f"{km * 1000}米")) is None
    assert judge(zh.format(f"{km}公里"), zh.format(f"{km}米")) is not None


@given(st.integers(1, 28), st.integers(1, 28), st.integers(1, 12), st.integers(1, 12))
def test_another_day_is_refused_and_another_notation_kept(
    d1: int, d2: int, m1: int, m2: int
) -> None:
    """3 May, May 3rd; 5月3日, 五月三号 and so on."""
    months = "January February March April May June July August September October November December"
    one, two = months.split()[m1 - 1], months.split()[m2 - 1]
    asked = f"Are you open on {d1} {one}?"
    assert judge(asked, f"Are you open on {one} {d1}?") is None
    assert judge(f"{m1}月{d1}日营业吗？", f"{m1}月{d1}号营业吗？") is None
    if (d1, m1) != (d2, m2):
        assert judge(asked, f"Are you open on {two} {d2}?") is not None
        assert judge(f"{m1}月{d1}日营业吗？", f"{m2}月{d2}日营业吗？") is not None


@given(TWO)
def test_from_and_to_changed_over_is_refused_and_moved_together_is_kept(two: list[int]) -> None:
    """From X to Y is not from Y to X; the order of the two phrases says nothing."""
    x, y = (CITIES[place] for place in two)
    asked = f"How long does the flight from {x} to {y} take?"
    assert judge(asked, f"How long does the flight from {y} to {x} take?") is not None
    assert judge(asked, f"How long does the flight to {y} from {x} take?") is None
    x, y = (CITIES_ZH[place] for place in two)
    assert judge(f"从{x}到{y}的火车要多久？", f"从{y}到{x}的火车要多久？") is not None
    assert judge(f"从{x}到{y}的火车要多久？", f"请问从{x}到{y}的火车要多长时间？") is None


@given(TWO)
def test_another_name_is_refused(two: list[int]) -> None:
    """One frame with another place in it."""
    for names, frame in (
        (CITIES, "Which museums are there in {}?"),
        (CITIES_ZH, "{}有哪些博物馆？"),
    ):
        x, y = (names[place] for place in two)
        assert judge(frame.format(x), frame.format(y)) is not None


@given(
    st.sampled_from(["can", "could", "should", "is", "are", "does", "did", "would", "has"]),
    st.sampled_from(["the printer", "the guests", "this key"]),
)
def test_a_denial_is_refused_and_its_spelling_kept(verb: str, noun: str) -> None:
    """isn't, isnt and is not are one denial; none of them is the plain question."""
    contracted = {"can": "can't"}.get(verb, f"{verb}n't")
    plain = f"Why {verb} {noun} on the list?"
    denied = f"Why {contracted} {noun} on the list?"
    assert judge(plain, denied) is not None
    assert judge(denied, f"Why {verb} {noun} not on the list?") is None
    assert judge(denied, denied.replace("'", "")) is None


@given(st.sampled_from(["支持退款", "包含早餐", "允许拍照", "需要押金", "提供发票"]))
def test_a_chinese_denial_is_refused_and_twice_denied_kept(said: str) -> None:
    """不 on one side only turns the question round; 不…不 does not."""
    assert judge(f"哪些店{said}？", f"哪些店不{said}？") is not None
    assert judge(f"哪些店{said}？", f"请问哪些店{said}呢？") is None


@given(
    st.sampled_from(
        [
            "免费的",
            "二手的",
            "带有泳池的",
            "提供早餐的",
            "有停车位的",
            "经济型",
            "人均80元的",
            "支持刷卡的",
        ]
    ),
    st.sampled_from(["酒店", "餐馆", "民宿"]),
    st.sampled_from(
        [
            ("我想找一家{}。", "请帮我推荐一家{}，谢谢。"),
            ("有没有{}？", "你好，能给我推荐一个{}吗？"),
            ("推荐一家{}", "吃完饭我想找一家{}，给推荐一家吧。"),
        ]
    ),
)
def test_one_condition_more_is_refused_in_whatever_words(
    condition: str, thing: str, frames: tuple[str, str]
) -> None:
    """A wish for one thing more is another request; other politeness around the same wish is none."""
    one, other = frames
    assert judge(one.format(condition + thing), other.format(thing)) is not None
    assert judge(one.format(thing), other.format(condition + thing)) is not None
    assert judge(one.format(condition + thing), other.format(condition + thing)) is None


@given(st.permutations(["酒店", "餐馆", "景点", "医院", "超市", "图书馆"]).map(lambda x: x[:2]))
def test_another_kind_of_place_is_refused(two: list[str]) -> None:
    """However the rest is put."""
    x, y = two
    assert judge(f"你好，帮我找一个评分5分的{x}。", f"有没有评分是5分的{y}推荐给我？") is not None


@given(st.permutations(["地址", "电话", "评分", "营业时间"]).map(lambda x: x[:2]))
def test_another_attribute_is_refused(two: list[str]) -> None:
    """Address, phone, rating and hours of one thing."""
    x, y = two
    assert judge(f"颐和园的{x}是什么？", f"请告诉我颐和园的{y}") is not None
    assert judge(f"颐和园的{x}是什么？", f"请告诉我颐和园的{x}") is None


@given(st.sampled_from(["以上", "以内", "以下"]), st.integers(100, 900))
def test_a_bound_on_the_other_side_is_refused(bound: str, price: int) -> None:
    """以上 is not 以下; without a bound it is the figure itself."""
    other = "以下" if bound == "以上" else "以上"
    assert judge(f"{price}元{bound}的酒店", f"{price}元{other}的酒店") is not None
    assert judge(f"{price}元{bound}的酒店", f"请推荐{price}元{bound}的酒店") is None


def test_material_to_work_on_counts_word_by_word() -> None:
    """A text that asks nothing is material: told of other parties, it is another text."""
    told = "老船长在海边救起了小渔夫，小渔夫后来成为了港口的主人。"
    assert judge(told, "小渔夫在海边救起了老船长，老船长后来成为了港口的主人。") is not None
    assert judge(told, "小渔夫被老船长在海边救起，后来成为了港口的主人。") is not None
    assert judge(told, told.replace("，", ",")) is None


def test_typing_without_capitals_says_nothing_about_a_name() -> None:
    """A small letter tells of another word only where its writer uses capitals."""
    assert judge("who invented the turkey sandwich", "Who invented the Turkey sandwich") is None
    assert judge("Who visited turkey?", "Who visited Turkey?") is not None
    assert judge("HOW OLD DO DRIVERS HAVE TO BE", "How old do drivers have to be?") is None


@given(st.sampled_from(["rooms have a view", "members vote", "lamps dim"]))
def test_not_all_is_neither_all_nor_none(said: str) -> None:
    """A denied "all" leaves some."""
    for other in (f"Why do all {said}?", f"Why do no {said}?"):
        assert judge(f"Why do not all {said}?", other) is not None
