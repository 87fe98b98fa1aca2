"""Decides what Chinese numerals are worth, and writes them as digits; words that only look so stay."""

import re
from fractions import Fraction

from service.guards import quantity as q

_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_MEASURES = (
    "个位名条款种次份间座家只本张件岁人天年月日号周米元块斤章节页集期代楼层室点分秒小公千厘毫平"
    "版折倍行列题步刻杯碗台部辆套场届级度字句段季克升吨亩兆英晚夜趟成毛角"
)
_HALF_UNIT = "分钟|英里|世纪|加仑|升|吨|里|磅|小时|钟头|天|年|月|公里|斤|公斤|米"
_PROTECTED = (
    "(?<=[上下每这那某另任])一(?=[次个位任周年月班站章节页步期届集场轮天种批代级])|等了?半天|好半天|老半天|大半天|过两天|这两天|那两天|第二天|这两个|这两家|那两个|这三个|这几|一下|一样|一起|一直|一定|一般|一些|一共|统一|唯一|万一|十分(?!钟)|百度|三星|一边|一旦|一致|一律|一点(?!钟|半)|一切|一会"
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
    rf"|(?P<half_after>[{_NUMERAL}]|\d+)(?P<half_after_unit>天|年|小时|公里|公斤|斤|里|米|周|岁)半(?![价径夜票路])"
    rf"|半个?(?P<half_unit>{_HALF_UNIT})"
    rf"|(?P<run>[{_NUMERAL}]+(?:点[{_NUMERAL}]+)?)"
)
_SCALE = {"百": 100, "千": 1000, "万": 10**4, "亿": 10**8, "万亿": 10**12}
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
    if match.group("half_after"):
        return f"{_plain(_value(match['half_after']) + Fraction(1, 2))}{match['half_after_unit']}"
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
