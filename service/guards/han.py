"""Decides how Chinese runs are cut into words, and writes Chinese numerals as digits first."""

import re
from collections.abc import Set
from fractions import Fraction
from functools import cache

from service.guards import quantity as q
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.choices import choices
from service.guards.lexicon.lists import mates, opposite_pairs, opposites_by_word, synonym_groups
from service.guards.text import Token

_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_MEASURES = (
    "个位名条款种次份间座家只本张件岁人天年月日号周米元块斤章节页集期代楼层室点分秒小公千厘毫平"
    "版折倍行列题步杯碗台部辆套场届级度字句段季克升吨亩兆英晚夜趟成毛角"
)
_HALF_UNIT = "小时|钟头|天|年|月|公里|斤|公斤|米"
_PROTECTED = (
    "等了?半天|好半天|老半天|大半天|过两天|这两天|那两天|第二天|这两个|这两家|那两个|这三个|这几|一下|一样|一起|一直|一定|一般|一些|一共|统一|唯一|万一|十分(?!钟)|百度|三星|一边|一旦|一致|一律|一点(?!钟|半)|一切|一会"
    "|千万(?=别|不)|两者|两边|一家|一个(?!半|小时|月|星期|季度)|一款|一种|一下子|一次性|七七八八|一一|不一|一名|一位|一份"
    "|一件|一张|一本|一只|一封|一篇|一首|第一时间|一方面|逐一|三方|三明治|四川|九寨沟|五金|八卦|百货|千克|千米|千瓦|万达|万科|万能"
)
_NUMBER = re.compile(
    f"({_PROTECTED})"
    rf"|(?P<under>(?!百分)[{_NUMERAL}]+|\d+)分之(?P<over>[{_NUMERAL}]+|\d+)"
    rf"|(?P<metres>[一二两三\d])米(?P<tenths>[一二三四五六七八九])(?![{_NUMERAL}\d])"
    rf"|百分之(?P<percent>[{_NUMERAL}]+(?:点[{_NUMERAL}]+)?|\d+(?:\.\d+)?)"
    rf"|(?P<day>(?:星期|周|礼拜)[一二三四五六日天](?![{_NUMERAL}]))"
    rf"|(?P<digits>\d+(?:\.\d+)?)\s?(?P<scale>[千百](?![克米瓦卡])|[万亿]+)"
    rf"|(?P<halved>[{_NUMERAL}]|\d+)个半(?P<halved_unit>{_HALF_UNIT})"
    rf"|半个?(?P<half_unit>{_HALF_UNIT})"
    rf"|(?P<run>[{_NUMERAL}]+(?:点[{_NUMERAL}]+)?)"
)
_SCALE = {"百": 100, "千": 1000, "万": 10**4, "亿": 10**8, "万亿": 10**12}
_A_NOT_A = re.compile(r"([\u4e00-\u9fff]{1,2})[不没]\1")
_WHICH_HOUR = re.compile(r"(?<!有)几点钟?(?![建意要])|几号(?![楼线航门厅台馆窗站床柜座仓库])")
_WHICH_DAYS = re.compile(
    r"(?<![这那过前后近没好])(?:几|多少)个?(?:天|分钟|小时|钟头|星期|周|月|年)(?![前后内以之票卡费的报刊])"
)
_RHETORIC = re.compile(r"难道(?:不是|没有|没)?")
"""A question that expects its answer; it asks what the plain one asks."""
_UNABLE = re.compile(zh.UNABLE)
_NO_HAVE = re.compile(
    r"有没有|是不是|能不能|会不会|可不可以|要不要|行不行|好不好|对不对|是否|能否|可否|会否"
)
_EACH = re.compile(
    r"(?<![十百千零二三四五六七八九\d])[一1]个?(月|年|天|周|星期|季度|小时|晚)(?=多少|要多少|价格|的?费|收多少|需要多少|.{0,6}几[次回]|的.{0,4}(?:上限|限额|额度|费|价格|利息|收入))"
)
"""一个月多少钱 asks for the price of each month."""
_AT_WHAT_TIME = re.compile(
    r"(开门|关门|发车|起飞|到达|到站|开始|结束|入住|退房|截止|发售|开售|放票)时间(?:是|为)?(?:什么时候|几点|多少)?"
)
_WHY = re.compile(
    r"怎么(?=还[没不是在]|没|变(?!更)|成了|少了|多了|不(?!显示)|会(?![员议计])|老是|总是|一直|又|这么|那么|[\u4e00-\u9fff]{1,3}不[上了到开出动])"
)
"""怎么还没到 asks why."""
_STAGES = {"线上": "prod", "生产": "prod", "正式": "prod", "测试": "testing", "预发": "staging", "预发布": "staging", "开发": "dev", "沙箱": "sandbox"}  # fmt: skip
_STAGE = re.compile(
    r"(线上|生产|正式|测试|预发布|预发|开发|沙箱)(?:环境)?的?(?=日志|服务器|数据库|库|机器|集群|配置|故障|报警|告警|代码|分支|服务|bug|BUG|节点)"
)
"""What belongs to an environment, the word environment left out (线上日志)."""
_WEEK_OF_DAY = re.compile(r"(这|本|上|下)个?(?:周|星期|礼拜)(?=[一二三四五六日天末])")
_WHICH_NUMBER = re.compile(
    r"(电话|号码|电话号码|手机号|密码|地址|邮箱|编号|单号|账号)(?:是多少|多少|是几)"
)
_WHOLE_WEEKEND = re.compile(r"(?:周|星期|礼拜)六(?:、|和|跟|及|与)?(?:周|星期|礼拜)?[日天]")
_REDUCED = re.compile(r"打(?=[\d一二三四五六七八九.]+折)")
_HOW_OLD = re.compile(r"几岁|多少岁")
_POOR = re.compile(r"不好(?=怎么|怎样|如何|的|了|吗|[，。,.？?！!]|$)")
_KNOWS_NOT_HOW = re.compile(
    r"(?:^|(?<=[，。,.？?！!我]))(?:不会|不懂|不知道)(?:怎么|如何|怎样)?(?=使?用|操作|设置|弄|安装|开|调|换|填|写|做)(?!.*[吗么][？?]?$)"
)
_WONDERS = re.compile(
    r"(?:有没有人|有人|有谁|谁|哪位|大家|你们?|您)(?:能|可以|会)?(?:知道|清楚|了解|晓得|懂)不?(?=[^，。？?]*(?:怎么|如何|怎样|咋|哪|多少|几|什么|吗))"
    r"|(?:我)?(?:还|也|真的|完全|一直)?(?:不知道|不清楚|不晓得|不懂|搞不懂|弄不懂|不太会|不太清楚|没搞懂|没弄明白|搞不清楚?)(?:该|要|应该)?(?=怎么|如何|怎样|咋|在哪|去哪|哪里)"
)
"""谁知道怎么, 不知道怎么: what is asked is the rest."""
_CANNOT_DO = re.compile(
    rf"(?:^|(?<=[，。,.？?！!我]))(?:不会|不太会|不懂)(?=(?:{'|'.join(sorted(zh.DEEDS))}))(?!.*[吗么][？?]?$)"
)
"""不会安装: asks how; as a question it asks whether something will happen."""
_DENIED = re.compile(
    r"(?:没有?|未能?|不能?|没能)(?:审核|审批|申请)?(?:通过|批准|获批|批下来|批复)(?!率)"
)
"""没通过: was refused."""
_WHICH_ONE = re.compile(r"几号(?=[楼线航门厅台馆窗站床柜座仓库])")
_NOT_MY_DOING = re.compile(r"不是(?:我|本人|我自己)(?:刷|操作|消费|买|下单|转)的")
_ANY_SUCH = re.compile(r"有没有(?=[^，。,]{1,10}的[吗呢]?\s*[？?]?$)")
_WANTED_NO_MORE = re.compile(
    r"我?(?:现在)?(?:不想要|不想用|不再使用|不需要|不想|不要)(?P<thing>[^，。？?不]{0,12})了(?=[^。]*(?:怎么|如何|怎样|咋|哪里|能))"
)
"""不想要…了怎么…: why it is asked, and not what."""
_CHECKED_FOR = re.compile(
    r"(?P<check>检查|校对|看看|看下|看一下|审核|审阅)(?P<what>[^，。？?]{0,8})有(?:没有)?(?:错误|错别字|错字|问题|毛病|语病)"
)
"""检查…有没有错误: what checking is for."""
_HEIGHT = re.compile(
    r"(?:身高|我)(?:是|为)?\s?(?P<metres>[12])(?P<rest>\d\d)(?:cm|厘米|公分|(?![\d元块岁天年月日个斤公]))",
    re.I,
)
"""身高180: in metres."""
_FORGOTTEN = re.compile(r"(?:想不起来?|记不(?:得|住|起来?|清楚?)|不记得)了?")
_WRONG = re.compile(r"不对(?![称外公应])|不正确|有误|不合适|不合身")
_SILENT = re.compile(r"(?:没有?|不)(?:出|发)?(?:声音|声)(?!控)")
_WEEKDAY = {char: number for number, char in enumerate("一二三四五六日", 1)} | {"天": 7}


def write_digits(text: str) -> str:
    """Write Chinese numerals, 3万, 百分之… and 半小时 as digits; leave words that only look so."""
    return _NUMBER.sub(lambda match: _apart(text, match) + _digits(match, text), text)


def _apart(text: str, match: re.Match[str]) -> str:
    """A blank between a Latin word and a Chinese numeral behind it (用golang一行)."""
    before = text[match.start() - 1 : match.start()]
    return " " if before.isascii() and before.isalpha() else ""


def _digits(match: re.Match[str], text: str) -> str:
    if match.group(1) and not match.group("percent"):
        return match.group()
    if match.group("percent"):
        value = match.group("percent")
        number = value if value[0].isdigit() else q.han_number(value)
        return f"{_plain(number)}%"
    if match.group("under") and match.group("under") != "百":
        under, over = (_value(match.group(name)) for name in ("under", "over"))
        return f"{_plain(over)}/{_plain(under)}"
    if match.group("metres"):
        return f"{_plain(_value(match['metres']))}.{_plain(_value(match['tenths']))}米"
    if match.group("day"):
        return f" weekday{_WEEKDAY[match.group('day')[-1]]} "
    if match.group("digits"):
        scaled = Fraction(match.group("digits")) * _SCALE.get(match.group("scale"), 1)
        return _plain(scaled)
    if match.group("halved"):
        whole = match.group("halved")
        number = Fraction(whole) if whole.isdigit() else q.han_number(whole)
        return f"{_plain((number or 0) + Fraction(1, 2))}{match.group('halved_unit')}"
    if match.group().startswith("半"):
        return f"0.5{match.group('half_unit')}"
    run = match.group("run")
    after = text[match.end() : match.end() + 1]
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    counted = after and (after in _MEASURES or after == "%")
    if len(run) == 1 and not counted and before != "第":
        return run
    number = q.han_number(run)
    return run if number is None else f"{_plain(number)}"


def _value(run: str) -> Fraction:
    return Fraction(run) if run.isdigit() else q.han_number(run) or Fraction(0)


def _plain(number: object) -> str:
    value = Fraction(str(number))
    return str(value.numerator) if value.denominator == 1 else str(float(value))


_CHAT = re.compile(
    r"(?:^|(?<=[，。！,.!]))\s*(?:你好|您好|好的?|好吧|嗯+|哦|噢|收到|明白了?|谢谢|多谢|不错|可以|成|行|知道了|我知道了|记下了|太好了|很好"
    r"|不用了|没事|没关系|麻烦了|打扰了|对了|是的|好呀|好啊|嗨|哈喽)[啊呀呢吧的了]*\s*[，。！,.!]"
)
_LAST_PARTICLE = re.compile(r"(?:没(?:有)?|不)[啊呀呢]?\s*(?=[？?]\s*$|$)")
"""A negation at the very end asks (给推荐一个不？)."""


def ask_forms(text: str) -> str:
    """Turn A-not-A questions into plain ones and "登录不了" into a negated verb."""
    text = _LAST_PARTICLE.sub("吗", _CHAT.sub("", _CHAT.sub("", text)))
    text = _NO_HAVE.sub(
        lambda match: {"有": "有", "是": "", "会": "会"}.get(match.group()[0], "可以"), text
    )
    text = _WHICH_DAYS.sub("多久", _WHICH_HOUR.sub("什么时候", text))
    text = _WHOLE_WEEKEND.sub("周末", _REDUCED.sub("", _HOW_OLD.sub("多大", text)))
    text = _WANTED_NO_MORE.sub(r"\g<thing>，", text)
    text = _SILENT.sub("没声音", text)
    text = _HEIGHT.sub(r"身高\g<metres>.\g<rest>米", text)
    text = _CHECKED_FOR.sub(r"\g<check>\g<what>", text)
    text = _NOT_MY_DOING.sub("盗刷", _WHICH_ONE.sub("哪个", _ANY_SUCH.sub("有些", text)))
    text = _DENIED.sub("被拒", text)
    text = _FORGOTTEN.sub("忘记", text)
    text = _CANNOT_DO.sub("怎么", _WONDERS.sub("", text))
    text = _KNOWS_NOT_HOW.sub("怎么", _POOR.sub("差", text))
    text = _WEEK_OF_DAY.sub(r"\1周 周", _WHICH_NUMBER.sub(r"\1是什么", _WRONG.sub("错误", text)))
    text = _STAGE.sub(lambda match: f"{_STAGES[match[1]]}环境", _WHY.sub("为什么", text))
    text = _AT_WHAT_TIME.sub(r"什么时候\1", _EACH.sub(r"每\1", text))
    text = _RHETORIC.sub("", text)
    text = _A_NOT_A.sub(r"\1", text)
    text = _UNABLE.sub(lambda match: f"{match[1].replace('了', '')}不能", text)
    for phrase, plain in _phrases():
        if phrase in text:
            text = text.replace(phrase, plain)
    return text


@cache
def _phrases() -> list[tuple[str, str]]:
    return sorted(zh.PHRASES.items(), key=lambda pair: -len(pair[0]))


def groups() -> dict[str, frozenset[int]]:
    """Word to the numbers of the synonym lines it stands in."""
    return synonym_groups("zh")


def line_mates(word: str) -> tuple[str, ...]:
    """Words that share a synonym line with this one."""
    return mates("zh", word)


def opposites() -> frozenset[tuple[str, str]]:
    """Pairs of opposite words, both ways round."""
    return opposite_pairs("zh")


def opposites_of(word: str) -> frozenset[str]:
    """Opposites of a word."""
    return opposites_by_word("zh").get(word, frozenset())


@cache
def kinds() -> dict[str, int]:
    """Word to the number of the line of `KINDS` that it, or a synonym of it, stands in."""
    table: dict[str, int] = {}
    for number, line in enumerate(zh.KINDS.strip().splitlines()):
        for word in line.split():
            table |= dict.fromkeys((word, *line_mates(word)), number)
    return table


@cache
def opposite_words() -> frozenset[str]:
    """Words that stand in a pair of opposites."""
    return frozenset(word for pair in opposites() for word in pair)


@cache
def _vocabulary() -> tuple[frozenset[str], int]:
    words = {
        *zh.FUNCTION, *zh.LIGHT, *zh.NOT_NEGATION, *zh.NEGATORS, *zh.QUANTIFIERS, *zh.STATES,
        *(name for name in choices() if not name.isascii()),
        *zh.EXTRA_WORDS, *kinds(), *zh.NARROWING, *zh.OFFERING, *zh.DISHES, *zh.LEXICAL_NEGATIVES, *zh.TROUBLE, *zh.LABELS, *(word for pair in opposites() for word in pair),
        *(name for name in [*q.UNITS, *q.CURRENCIES] if not name.isascii()), "点钟", "月份", "个",
    }  # fmt: skip
    known = words | groups().keys()
    words |= {word for word in groups() if len(word) < _COMPOUND or not _is_compound(word, known)}
    return frozenset(words), max(map(len, words))


_COMPOUND = 4
"""A word of so many characters that is made of known words is left to `matching`, which joins them again:
cut as one it would hide its parts from the other text."""


def _is_compound(word: str, known: Set[str]) -> bool:
    """Whether the word is made of known words of two characters or more."""
    return any(
        word[:at] in known and (word[at:] in known or _is_compound(word[at:], known))
        for at in range(2, len(word) - 1)
    )


@cache
def small_words() -> frozenset[str]:
    """Words that name no thing and no deed by themselves."""
    return frozenset(
        {
            *zh.FUNCTION,
            *zh.LIGHT,
            *zh.NEGATORS,
            *zh.QUANTIFIERS,
            *zh.STATES,
            *q.UNITS,
            *q.CURRENCIES,
        }
    )


def cut(token: Token) -> list[Token]:
    """Cut a run of Han characters at the longest known words; unknown characters stand alone."""
    words, longest = _vocabulary()
    run, at, out = token.text, 0, []
    while at < len(run):
        size = next(
            (
                size
                for size in range(min(longest, len(run) - at), 1, -1)
                if run[at : at + size] in words
            ),
            1,
        )
        piece = run[at : at + size]
        out.append(Token("han", piece, piece, token.start + at))
        at += size
    return out
