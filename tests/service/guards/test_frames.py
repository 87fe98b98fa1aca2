"""However a request is put: the same thing in another frame is kept, another thing in another frame is refused.

Frames and things are multiplied, so that no rule can rest on one wording.
"""

from itertools import combinations, product

import pytest

from service.guards import judge
from service.guards.lexicon.common_chinese import common_words, is_plain

ENGLISH = """How do I {}?|How can I {}?|how to {}|I want to {}|Is there a way to {}?|Could you tell me how to {}?
|I don't know how to {}|Not sure how to {}|What do I need to do to {}?|steps to {}|Any idea how to {}?|Please help me {}
|can u help me {}|Where can I {}?|I can't figure out how to {}|Kindly let me know how to {}""".replace(
    "\n", ""
).split("|")
CHINESE = """怎么{}|如何{}？|{}怎么弄|请问怎么{}|我想{}|{}的步骤是什么|在哪里{}|有没有办法{}
|谁知道怎么{}|不知道怎么{}|{}教程|想了解一下怎么{}|麻烦教一下怎么{}|您好我想问下{}怎么弄|{}该如何操作""".replace(
    "\n", ""
).split("|")
THINGS = {
    "en": ["rename my playlist", "archive a folder", "pair my headphones", "order spare parts"],
    "zh": ["导出账单", "绑定手环", "申请延期", "更换轮胎"],
}
OTHERS = {
    "en": [
        ("rename my playlist", "rename my profile"),
        ("archive a folder", "delete a folder"),
        ("install the gateway", "install the gateway certificate"),
        ("upload a contract", "download a contract"),
    ],
    "zh": [
        ("导出账单", "导入账单"),
        ("绑定手环", "绑定音箱"),
        ("修改住址", "修改姓名"),
        ("预订露天餐桌", "预订室内餐桌"),
    ],
}
FRAMES = {"en": ENGLISH, "zh": CHINESE}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_thing_in_two_frames_is_kept(language: str) -> None:
    """Every thing in every two frames."""
    for thing, (one, other) in product(THINGS[language], combinations(FRAMES[language], 2)):
        a, b = one.format(thing), other.format(thing)
        assert judge(a, b) is None, (a, b, judge(a, b))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_another_thing_in_another_frame_is_refused(language: str) -> None:
    """The frames hide neither another object, nor another deed, nor another head of a name."""
    frames = FRAMES[language]
    for (thing, changed), one, other in product(OTHERS[language], frames[::2], frames[::3]):
        a, b = one.format(thing), other.format(changed)
        assert judge(a, b) is not None, (a, b)


@pytest.mark.parametrize("please", ["Please do {}", "Do {}", "please {} for me", "I'd like to {}"])
def test_a_noun_behind_the_thing_makes_another_thing(please: str) -> None:
    """Also where politeness shifts the wording and a letter is spelt the other way round."""
    assert judge(please.format("calibrate the fiber"), "Calibrate the fibre splitter") is not None
    assert judge(please.format("calibrate the fiber"), "Calibrate the fibre") is None


@pytest.mark.parametrize(
    ("whole", "parts", "other"),
    [
        ("网银", "网上银行", "网上商城"),
        ("截屏", "屏幕截图", "屏幕键盘"),
        ("央视", "中央电视台", "中央空调"),
    ],
)
def test_a_short_name_and_the_words_it_stands_for(whole: str, parts: str, other: str) -> None:
    """The longer name is cut into its words and still known as one."""
    assert judge(f"{whole}怎么用", f"如何使用{parts}？") is None
    assert judge(f"{whole}怎么用", f"{other}怎么用") is not None


@pytest.mark.parametrize(
    ("low", "high"), [("under", "over"), ("below", "above"), ("under", "above")]
)
def test_a_bound_before_an_amount_counts(low: str, high: str) -> None:
    """Under 90 and over 90 are two searches."""
    assert judge(f"tents {low} 90 euros", f"tents {high} 90 euros") is not None
    assert judge(f"tents {low} 90 euros", f"find tents {low} €90") is None


def test_what_was_and_what_will_be() -> None:
    """是什么时候…的 asks of the past."""
    assert judge("快递是什么时候送到的", "快递什么时候能送到") is not None
    assert judge("快递什么时候能送到", "快递什么时候可以送到") is None


def test_whether_is_not_when() -> None:
    """A yes answers the one and not the other."""
    assert judge("Is the library moving?", "When is the library moving?") is not None


def test_one_han_character_is_enough_for_a_chinese_text() -> None:
    """Commands and error codes in Latin letters do not make a Chinese question English."""
    assert judge("pip install报ENOSPC", "执行pip install的时候报ENOSPC") is None
    assert judge("pip install ENOSPC", "执行pip install的时候报ENOSPC") is not None


def test_common_words_are_no_names() -> None:
    """What everyday words make up is told from what somebody or some place may be called."""
    assert is_plain("早期症状")
    assert not is_plain("亮马河")
    assert is_plain("")
    assert len(common_words()) > 30_000
    assert all(2 <= len(word) <= 4 for word in common_words())
    assert {"北京", "张三丰"}.isdisjoint(common_words())
