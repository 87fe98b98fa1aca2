"""Traditional characters, words of regions and dialects, and other first persons are judged as their standard forms."""

import pytest

from service import key
from service.eligibility import classify
from service.simplified import _table, simplified
from tests.service import eligibility_texts as texts


def _reason(text: str) -> str | None:
    found = classify(text)
    return found.reason if found else None


def _in_traditional(text: str) -> str:
    """Each character as the first traditional one that is read as it."""
    first: dict[str, str] = {}
    for code, character in _table().items():
        first.setdefault(character, chr(code))
    return "".join(first.get(character, character) for character in text)


@pytest.mark.parametrize("kind", ["PERSONAL", "ACTING", "VOLATILE", "CREATIVE", "GENERAL"])
def test_both_scripts_are_judged_alike(kind: str) -> None:
    """Every text of a kind, written in traditional characters, has the reason of the text itself."""
    rows = [row for row in getattr(texts, kind).strip().splitlines() if not row.isascii()]
    changed = [(row, _in_traditional(row)) for row in rows if simplified(row) == row]
    assert sum(row != other for row, other in changed) > len(rows) / 2
    assert [
        (other, _reason(row), _reason(other))
        for row, other in changed
        if _reason(row) != _reason(other)
    ] == []


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("personal", "我的帳單多少錢"),
        ("personal", "我還有幾天特休"),
        ("personal", "我的點數還剩多少"),
        ("personal", "我嘅包裹去咗邊度"),
        ("personal", "我的門號什麼時候到期"),
        ("acting", "把冷氣開到26度"),
        ("acting", "幫我叫一輛計程車"),
        ("acting", "傳訊息給媽媽"),
        ("acting", "刪掉所有簡訊"),
        ("acting", "幫我列印這份文件"),
        ("acting", "寄一封郵件給陳經理"),
        ("acting", "幫我刪除這些檔案"),
        ("volatile", "而家幾點"),
        ("volatile", "颱風什麼時候來"),
        (None, "登入失敗怎麼辦"),
        (None, "印表機卡紙怎麼辦"),
        (None, "軟體有哪些功能"),
        (None, "檔案管理辦法是什麼"),
        (None, "方程式怎么解"),
        (None, "信箱是什麼意思"),
        (None, "退款政策是什麼"),
    ],
)
def test_words_of_a_region_are_read_as_the_standard_ones(reason: str | None, text: str) -> None:
    assert _reason(text) == reason


@pytest.mark.parametrize(
    ("personal", "general"),
    [
        ("俺的快递到哪了", "俺是什么意思"),
        ("咱的积分还剩多少", "积分有什么用"),
        ("本人名下有几张卡", "需要本人到场吗"),
        ("本人的余额是多少", "非本人的卡可以用吗"),
        ("我司的配额是多少", "配额是什么意思"),
        ("我们团队的套餐什么时候到期", "团队套餐包括哪些功能"),
        ("我們公司還剩多少席位", "我们公司的退款政策是什么"),
        ("我们店这个月的账单是多少", "我们学校的校训是什么"),
        ("我是VIP吗", "我是学生可以打折吗"),
        ("我算不算新用户", "我是不是可以退货"),
        ("我属于哪个会员等级", "会员等级有哪些"),
        ("我被封号了吗", "我被骗了怎么办"),
        ("我实名认证了没有", "实名认证需要什么材料"),
        ("钱包里还有多少钱", "卡里有多少钱可以免年费"),
        ("给我查查话费", "帮我看看退款政策"),
        ("我戶口結餘幾多", "户口本丢了怎么办"),
        ("我的会员还有几天", "我的会员会过期吗"),
        ("替我看下工资发了没", "查一下年假规定"),
    ],
)
def test_what_somebody_has_or_is_is_personal_and_a_rule_is_not(personal: str, general: str) -> None:
    assert _reason(personal) == "personal"
    assert _reason(general) is None


@pytest.mark.parametrize(
    ("hours", "moment"),
    [
        ("营业时间？", "今天的营业时间"),
        ("办公时间", "现在时间"),
        ("上班时间是几点到几点？", "上海时间？"),
        ("你们的退房时间是几点", "现在几点？"),
        ("門診時間", "時間？"),
        ("到账时间", "伦敦的时间"),
        ("客服时间一般是几点", "现在营业吗"),
        ("週末有營業嗎", "这个周末营业吗"),
    ],
)
def test_hours_of_service_stand_on_a_page_and_the_hour_does_not(hours: str, moment: str) -> None:
    assert _reason(hours) is None
    assert _reason(moment) == "volatile"


@pytest.mark.parametrize(
    ("order", "title"),
    [
        ("帮我请假", "请假需要提前几天"),
        ("马上给我退款", "退款到账时间"),
        ("帮我充值", "提现手续费"),
    ],
)
def test_the_rule_of_a_service_is_no_order_for_it(order: str, title: str) -> None:
    assert _reason(order) == "acting"
    assert _reason(title) is None


def test_unseen_characters_inside_a_word_hide_nothing() -> None:
    """A model reads through them, and so do the rules."""
    assert _reason("我的余\u200b额是多少") == "personal"
    assert _reason("What is my bal\u00adance?") == "personal"


@pytest.mark.parametrize(
    "text",
    [
        "\u3164",
        "\u2800 \u2800",
        "\u200e\u061c",
        "\u180e",
        "\ufe0f",
        "\u2063\n",
        "\U000e0041\U000e007f",
        "\uffa0\u115f",
    ],
)
def test_a_text_of_unseen_characters_is_blank(text: str) -> None:
    """As the empty text is: for the rules, and where a request is read."""
    assert _reason(text) == "blank"
    found = key.canonicalize({"messages": [{"role": "user", "content": text}]})
    assert found.is_blank
    assert found.query is None
