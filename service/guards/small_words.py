"""Decides what small words tell of time, of turns and of how many: at or until, a day or a time, one or all."""

import re
from functools import lru_cache

from service.guards.inflections import inflection
from service.guards.lexicon import english as en

_BEFORE_TIME = re.compile(
    r"\b(?P<word>at|on|until|till|til|by|from|since|after|before)\s+(?:about |around |the )?"
    r"(?=\d|noon\b|midnight\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|tomorrow\b|tonight\b|quarter\b"
    r"|january\b|february\b|march\b|april\b|may\b|june\b|july\b|august\b|september\b|october\b|november\b|december\b)",
    re.I,
)
_TIME_WORDS = {"on": "at", "till": "until", "til": "until", "since": "from", "before": "by"}
_EACH = re.compile(
    r"每(?:[一1])?(?P<each>个?(?:小时|钟头|星期|礼拜|季度)|个?[天日次回周月年晚人单笔张件名位])"
)
_RATED = re.compile(
    r"(?<![\d一二三四五六七八九十几半今明去前后每当本上下包])(年|月|日|周|季)(?=利率|利息|薪|租|费|收入|产量|均|报|检|供)"
)
"""What is paid or measured by the year or by the month."""
_EACH_ALIKE = {
    "日": "天",
    "回": "次",
    "星期": "周",
    "礼拜": "周",
    "钟头": "小时",
    "名": "人",
    "位": "人",
}
_ALL = frozenset({"all", "every", "each"})
_ONE = frozenset({"a", "an", "one", "single"})
_WHOLE_HAN = re.compile("整个|所有|全部|全体|全(?:公司|团队|部门|班|校|家|员)")
_OWN_HAN = re.compile("(?:我|他|她)?自己的?|本人的?|我个人|单个|某[一1]?个")
_KIN = (
    "妈妈?|爸爸?|爸妈|父母|母亲|父亲|老婆|老公|妻子|丈夫|爱人|太太|孩子|儿子|女儿|哥哥?|姐姐?|弟弟?|妹妹?|爷爷|奶奶|外公|外婆|姥姥|姥爷"
    "|女朋友|男朋友|女友|男友|对象|朋友|同学|同事|室友|邻居|领导|老板|家人|公公|婆婆|岳父|岳母"
)
_SURNAMES = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
_OWNED_BY = (
    ("kin", re.compile(rf"[我咱俺]家?(?:{_KIN})(?!们)|(?:{_KIN})的")),
    ("third", re.compile("(?<![吉其])[他她](?!人|[山日乡国])(?:们)?(?:的|[\u4e00-\u9fff])")),
    (
        "named",
        re.compile(
            rf"[小老阿][{_SURNAMES}](?=的)|[{_SURNAMES}](?:总|经理|老师|医生|主任|[\u4e00-\u9fff]{{1,2}})(?=的)"
        ),
    ),
    ("first", re.compile("[我咱俺]们?的|本人|我自己")),
)
_THE_ONE = frozenset({"this", "that", "the", "my"})
"""Words before one thing, where the thing is no plural."""
_DEFINITE = _THE_ONE | {"all", "one", "single"}
_OPENING = frozenset("do can could must may should will would be have".split())
_MEASURE = "个条张份件位名封台部篇行列笔次栋本辆间所只款组批页段句项门"
_ONE_HAN = re.compile(
    rf"(?:(?<![每第哪任这那])(?:[一1]|某[一1]?|其中[一1])[{_MEASURE}]|这[一1]?[{_MEASURE}]|单[{_MEASURE}]|当前的?)(?P<thing>[\u4e00-\u9fff])"
)
_ALL_HAN = re.compile("(?:所有|全部|全体|一切)的?(?P<thing>[\u4e00-\u9fff])")
_PREPOSITIONS = frozenset("to for from with at on".split())
_BEFORE_DEED = frozenset("to i we you please and".split())
_OWNERS = frozenset(
    "of the my our your these those current selected single active given particular specific".split()
)


@lru_cache(8192)
def time_words(text: str) -> frozenset[str]:
    """How times of day and days are joined: at, until, by, from, after."""
    return frozenset(
        _TIME_WORDS.get(word, word)
        for word in (match["word"].lower() for match in _BEFORE_TIME.finditer(text))
    )


@lru_cache(8192)
def each(text: str) -> frozenset[str]:
    """What something is counted by in Chinese: 每天, 每次, 月利率."""
    found = [match["each"].removeprefix("个") for match in _EACH.finditer(text)]
    found += _RATED.findall(text)
    return frozenset(_EACH_ALIKE.get(unit, unit) for unit in found)


def of_all_or_own(left: str, right: str) -> bool:
    """Whether one Chinese text is about the whole of something, and the other about one's own."""
    wholes = [_WHOLE_HAN.search(text) is not None for text in (left, right)]
    owns = [_OWN_HAN.search(text) is not None for text in (left, right)]
    return wholes[0] != wholes[1] and owns[0] != owns[1] and wholes[0] == owns[1]


@lru_cache(8192)
def owner_han(text: str) -> str:
    """Whose thing a Chinese text is about: the asker's `kin`, a `third`, somebody `named`, the `first` person, or ""."""
    return next((kind for kind, rule in _OWNED_BY if rule.search(text)), "")


@lru_cache(8192)
def objects(skeleton: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """What stands before a thing, and the thing, to `all` or `one`: for each thing that is counted so."""
    found = {}
    for at, count in enumerate(skeleton[1:-1], 1):
        if count not in _ALL | _ONE | _THE_ONE:
            continue
        before = inflection(skeleton[at - 1]).lemma
        word = next((word for word in skeleton[at + 1 :] if word not in _OWNERS), "")
        thing = inflection(word).lemma
        told = _is_deed(skeleton, at - 1, before) or (at == 1 and before in _OPENING)
        through = before in _PREPOSITIONS and at > 1
        if through:
            deed = inflection(skeleton[at - 2]).lemma
            told = _is_deed(skeleton, at - 2, deed) or count in _DEFINITE
        if not told or (count in _THE_ONE and word != thing):
            continue
        found[before, thing] = "all" if count in _ALL else "one"
    return found


@lru_cache(8192)
def objects_han(text: str) -> dict[str, str]:
    """Thing to `all` or `one` in a Chinese text: 所有设备, 当前设备, 一条记录."""
    one = {match["thing"]: "one" for match in _ONE_HAN.finditer(text)}
    return one | {match["thing"]: "all" for match in _ALL_HAN.finditer(text)}


def _is_deed(skeleton: tuple[str, ...], at: int, lemma: str) -> bool:
    """Whether the word is a verb by the lists, or by where it stands."""
    opens = at == 0 or skeleton[at - 1] in _BEFORE_DEED
    return lemma in en.DEEDS or (opens and lemma not in en.FUNCTION)
