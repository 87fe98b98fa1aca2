"""What a Chinese text asks: another kind of question is refused, another wording of one kind is kept."""

from itertools import combinations

import pytest

from service.guards import judge
from service.guards.asked import asked_han

QUESTIONS = {
    "what": "{}是什么",
    "where": "{}在哪里",
    "when": "{}什么时候开始",
    "long": "{}有多久",
    "count": "{}有多少人",
    "why": "为什么要有{}",
    "how": "怎么提高{}",
    "who": "{}归谁管",
    "big": "{}多大",
    "tall": "{}多高",
    "wide": "{}多宽",
    "money": "{}多少钱",
    "may": "{}能不能转让",
    "state": "{}怎么样",
}


@pytest.mark.parametrize("thing", ["名额", "展厅", "直播间"])
def test_any_two_kinds_of_question_are_refused(thing: str) -> None:
    """Every two kinds, about one thing."""
    for (one, a), (other, b) in combinations(QUESTIONS.items(), 2):
        assert judge(a.format(thing), b.format(thing)) is not None, (one, other)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("耳机怎么样", "耳机好用吗"),
        ("停车收费吗", "停车多少钱"),
        ("如何导出账单", "怎么导出账单"),
        ("路由器连不上怎么办", "路由器连不上怎么处理"),
        ("体育馆怎么走", "体育馆在哪里"),
        ("退款多久到账", "退款什么时候到账"),
        ("退换流程", "怎么退换"),
        ("分店的地址是什么", "分店在哪里"),
        ("大门几点开", "大门什么时候开"),
        ("我的包裹在哪", "怎么查包裹"),
        ("有停车位吗", "能停车吗"),
        ("表带坏了怎么补办", "表带坏了在哪补办"),
        ("怎么称呼您", "您叫什么名字"),
        ("旧钢琴怎么卖", "怎么卖旧钢琴"),
        ("讲座是几号", "讲座在哪天"),
    ],
)
def test_one_question_in_other_words_is_kept(a: str, b: str) -> None:
    """Both ways round."""
    assert judge(a, b) is None
    assert judge(b, a) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("哪里能修手表", "怎么修手表"),
        ("积分能叠加吗", "积分怎么叠加"),
        ("植物园怎么去", "植物园怎么玩"),
        ("有几种口味", "口味怎么样"),
        ("押金能不能退", "押金怎么样"),
        ("行李多重", "行李多大"),
        ("需要排号吗", "怎么排号"),
        ("有没有折扣", "折扣怎么用"),
        ("多久换一次", "换多久"),
        ("去哪儿修表", "怎么修表"),
        ("寄件需要什么", "寄件需要多久"),
        ("这袋多少克", "这袋多少钱"),
        ("有几种尺寸", "有什么尺寸"),
        ("点券有什么用", "点券怎么用"),
    ],
)
def test_near_kinds_are_told_apart(a: str, b: str) -> None:
    """Both ways round."""
    assert judge(a, b) is not None
    assert judge(b, a) is not None


def test_a_polite_request_asks_for_what_it_names() -> None:
    """能告诉我 does not ask whether one can."""
    assert asked_han("能告诉我怎么报名吗") == {"how"}
    assert asked_han("能帮我翻译这句话吗") == frozenset()
    assert asked_han("这里能拍照吗") == {"may"}
