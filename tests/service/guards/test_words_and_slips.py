"""Words spoken of as words, slips by sound, short names, whose it is, one against all, begin against end."""

import time
from itertools import product

import pytest

from service.guards import analyse, judge
from service.guards.asked import start_or_end
from service.guards.han_politeness import without_politeness
from service.guards.han_slips import differ_by_a_slip
from service.guards.mentions import spoken_of
from service.guards.short_names import differ_by_a_short_name


@pytest.mark.parametrize(
    ("meant", "slip"),
    [("怎么挂号", "怎么挂好"), ("怎么付款", "怎么付宽"), ("如何导航", "如何倒航")],
)
def test_a_character_typed_by_its_sound_changes_nothing(meant: str, slip: str) -> None:
    assert differ_by_a_slip(meant, slip)
    assert judge(meant, slip) is None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("权利的含义", "权力的含义"),
        ("联系苏文", "联系舒文"),
        ("订金怎么退", "定金怎么退"),
        ("怎么买票", "怎么卖票"),
    ],
)
def test_two_words_or_two_names_are_no_slips(left: str, right: str) -> None:
    """Both make a word, or neither does, or the characters sound unlike."""
    assert not differ_by_a_slip(left, right)


def test_characters_exchanged_or_typed_twice() -> None:
    assert differ_by_a_slip("怎么用博馆物的导览", "怎么用博物馆的导览")
    assert differ_by_a_slip("怎么么预约", "怎么预约")
    assert not differ_by_a_slip("二十二个", "二十个")
    assert not differ_by_a_slip("山东怎么去", "东山怎么去")
    assert not differ_by_a_slip("猫追狗", "狗追猫")


@pytest.mark.parametrize(
    ("text", "han", "word"),
    [
        ("What does the word bark mean?", False, ("bark",)),
        ("Define entropy.", False, ("entropy",)),
        ("What is the name of the lake?", False, ()),
        ('解释"启发"的含义', True, ("启发",)),
        ("什么是债券？", True, ("债券",)),
        ("怎么买债券？", True, ()),
    ],
)
def test_a_word_that_is_spoken_of(text: str, han: bool, word: tuple[str, ...]) -> None:
    assert spoken_of(text, han=han) == word


def test_of_a_word_spoken_of_no_synonym_will_do() -> None:
    assert judge("What does the word begin mean?", "What does the word start mean?") is not None
    assert judge("When does the course begin?", "When does the course start?") is None


@pytest.mark.parametrize(
    ("short", "full", "same"),
    [
        ("武大怎么走", "武汉大学怎么走", True),
        ("招行的汇率", "招商银行的汇率", True),
        ("武大怎么走", "武汉科技大学怎么走", False),
        ("江苏银行的汇率", "江苏工商银行的汇率", False),
    ],
)
def test_a_short_name_takes_a_character_of_each_part(short: str, full: str, same: bool) -> None:
    assert differ_by_a_short_name(short, full) is same


@pytest.mark.parametrize("thing", ["车票", "病历", "水表"])
def test_whose_it_is(thing: str) -> None:
    """Mine, my family's and his are three things; how it is done is asked for all."""
    texts = [f"{whose}的{thing}在哪里" for whose in ("我", "我爸", "他", "小赵")]
    for one, other in product(texts, texts):
        assert (judge(one, other) is None) is (one == other), (one, other)
    assert judge(f"我怎么补办{thing}", f"乘客怎么补办{thing}") is None


@pytest.mark.parametrize("deed", ["mute", "archive", "print"])
@pytest.mark.parametrize("one", ["this", "one", "the current", "my"])
def test_one_is_not_all(deed: str, one: str) -> None:
    assert judge(f"How do I {deed} {one} chart?", f"How do I {deed} all charts?") is not None
    assert judge(f"How do I {deed} every chart?", f"How do I {deed} all charts?") is None


def test_one_is_not_all_in_chinese() -> None:
    for one in ("一张", "这张", "当前"):
        assert judge(f"怎么打印{one}海报", "怎么打印所有海报") is not None
    assert judge("怎么打印全部海报", "怎么打印所有海报") is None


def test_when_it_begins_is_not_when_it_ends() -> None:
    assert start_or_end("泳池几点开", "泳池开到几点")
    assert not start_or_end("泳池几点开", "泳池几点开门")
    assert not start_or_end("泳池几点开到几点", "泳池几点关")


@pytest.mark.parametrize(
    "frame", ["请问{}", "冒昧问一句，{}", "能否劳烦您告诉我{}", "问个小问题：{}", "{}谢谢大家！"]
)
def test_politeness_asks_for_nothing(frame: str) -> None:
    assert without_politeness(frame.format("游泳馆怎么走？")).strip("？") == "游泳馆怎么走"
    assert judge(frame.format("游泳馆怎么走？"), "游泳馆怎么走？") is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is a ten-day trip enough?", "Is a 10 day trip enough?"),
        ("Is a third of a million views good?", "Are a third of a million views good?"),
        ("Do I need five or more stamps?", "Do I need at least 5 stamps?"),
        ("How many days does drying take?", "How long does drying take?"),
        ("Does oak weigh more than pine?", "Is oak heavier than pine?"),
        ("Does team A score more goals than team B?", "Does team B score fewer goals than team A?"),
        ("When the bell rings, where do we wait?", "Where do we wait when the bell rings?"),
        ("Boarding times of the ferry", "The boarding times of the ferry"),
        ("Opening hours of the archive", "The opening hours of the archive"),
        ("How do I read the logs in testing?", "How do I read the testing logs?"),
        ("Is Word free?", "Is Microsoft Word free?"),
        ("How long until the launch?", "How much time is left until the launch?"),
        ("Can I climb a six-foot wall?", "Can I climb a 6 ft wall?"),
        ("What happened on 12/30/2021?", "What happened on 30 December 2021?"),
        ("I can't open the vault. What should I do?", "How do I open the vault?"),
        ("闸机一比闸机二噪音大吗？", "闸机二比闸机一噪音小吗？"),
        ("半吨水泥多少钱？", "500公斤水泥多少钱？"),
        ("怎么喂养鹦鹉？", "怎么养鹦鹉？"),
        ("Which of `TOP` or LIMIT is standard?", "Which of TOP or LIMIT is standard?"),
    ],
)
def test_one_question_in_two_forms(a: str, b: str) -> None:
    assert judge(a, b) is None
    assert judge(b, a) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("How must guests register?", "How can guests register?"),
        ("Does a tenant need a permit?", "Do all tenants need a permit?"),
        ("What does loadUser return?", "What does loaduser return?"),
        ("Is every poodle a dog?", "Is every dog a poodle?"),
        ("Is this hall larger than that one?", "Is that hall larger than this one?"),
        ("Who will design the logo?", "Who designed the logo?"),
        ("谁会设计标志？", "谁设计了标志？"),
        ("怎么注销全公司的邮箱？", "怎么注销自己的邮箱？"),
        ("What does the word lily mean?", "What does the word Lily mean?"),
        ("How many mW does it draw?", "How many MW does it draw?"),
    ],
)
def test_one_small_thing_differs(a: str, b: str) -> None:
    assert judge(a, b) is not None
    assert judge(b, a) is not None


@pytest.mark.parametrize(
    "piece", ["麻烦请教", "能讲", "什么时候", "do you have any ", "make sure that "]
)
def test_no_wording_makes_a_long_text_slow(piece: str) -> None:
    """Seconds of processor time, for a text near the longest that is read."""
    text = (piece * (19_000 // len(piece) + 1))[:19_000]
    began = time.process_time()
    analyse(text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("share", ["tenth", "fifth", "eighth"])
def test_a_share_in_two_forms(share: str) -> None:
    assert judge(f"What is a {share} of 400?", f"What is one {share} of 400?") is None
    assert judge(f"What is a {share} of 400?", "What is a sixth of 400?") is not None
