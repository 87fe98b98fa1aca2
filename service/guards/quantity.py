"""Decides which number, unit, date or clock time a run of tokens stands for.

Numbers are exact fractions, lengths are metres, spans are seconds and so on, so that equal
amounts are equal values. Conversions are made only where they are exact.
"""

import re
import warnings
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # cn2an's dependency warns about its own escape sequences
    import cn2an
from text_to_num import text2num


class Quantity(NamedTuple):
    """An amount: its value in base units, its dimension ("" = bare), and the number as written.

    Soft amounts are words like "a week" or "one", which may stand for no number at all.
    """

    value: Fraction
    unit: str
    soft: bool
    text: str
    raw: Fraction


def _table(rows: str) -> dict[str, tuple[str, Fraction]]:
    table = {}
    for row in rows.strip().splitlines():
        dimension, factor, *names = row.split()
        table.update(dict.fromkeys(names, (dimension, Fraction(factor))))
    return table


UNITS = _table(
    """
length 1/1000 mm millimetre millimeter millimetres millimeters 毫米
length 1/100 cm centimetre centimeter centimetres centimeters 厘米
length 1 m metre meter metres meters 米
length 1000 km kilometre kilometer kilometres kilometers kms 公里 千米
length 500 里
mile 1 mile miles mi 英里
foot 1 ft foot feet 英尺
inch 1 inch inches 英寸 寸
yard 1 yard yards
area 1 sqm m2 平米 平方米 平方
area 1/10000 平方厘米
area 1000000 平方公里 平方千米
cubic 1 立方米 立方
cubic 1/1000000 立方厘米
hectare 1 hectare hectares 公顷
acre 1 acre acres 亩
mass 1/1000 mg milligram milligrams 毫克
mass 1 g gram grams gramme grammes 克
mass 1000 kg kilo kilos kilogram kilograms 公斤 千克
mass 500 斤
mass 50 两
mass 1000000 tonne tonnes 吨
pound 1 lb lbs pound
ounce 1 oz ounce ounces 盎司
stone 1 stones
volume 1/1000 ml millilitre milliliter millilitres milliliters 毫升
volume 1 l litre liter litres liters 升
gallon 1 gallon gallons 加仑
cup 1 cup cups
tbsp 1 tbsp tablespoon tablespoons
tsp 1 tsp teaspoon teaspoons
pint 1 pint pints
span 1/1000 ms millisecond milliseconds 毫秒
span 1 s sec secs second seconds 秒 秒钟
span 60 min mins minute minutes 分钟
span 900 刻钟
span 3600 h hr hrs hour hours 小时 钟头
span 86400 day days 天
span 604800 week weeks wk wks 周 星期 礼拜
month 1 month months 月 个月
month 3 quarter quarters 季度
month 12 year years yr yrs 年
month 120 decade decades
month 1200 century centuries 世纪
data 1 byte bytes 字节
data 1000 kb kilobyte kilobytes
data 1000000 mb megabyte megabytes
data 1000000000 gb gigabyte gigabytes
data 1000000000000 tb terabyte terabytes
data 1024 kib
data 1048576 mib
data 1073741824 gib
bits 1 bit bits
rate 1 bps
rate 1000 kbps
rate 1000000 mbps
rate 1000000000 gbps
power 1 w watt watts 瓦
power 1000 kw kilowatt kilowatts 千瓦
energy 1 wh
energy 1000 kwh 度电
volt 1 v volt volts 伏
amp 1 amp amps
freq 1 hz 赫兹
freq 1000 khz
freq 1000000 mhz
freq 1000000000 ghz
kcal 1 kcal calorie calories 卡路里 大卡 千卡
speed 1 kmh kph
mph 1 mph
celsius 1 °c celsius centigrade 摄氏度
fahrenheit 1 °f fahrenheit 华氏度
degree 1 ° degree degrees 度
percent 1 % percent percentage 百分
pixel 1 px pixel pixels 像素
point 1 pt pts
"""
)
CURRENCIES = {
    name: code
    for code, names in {
        "USD": "$ usd dollar dollars buck bucks 美元 美金",
        "EUR": "€ eur euro euros 欧元",
        "GBP": "£ gbp sterling quid pounds 英镑",
        "JPY": "jpy yen 日元",
        "CNY": "¥ cny rmb yuan renminbi 元 块 块钱 人民币 元钱",
        "INR": "₹ inr rupee rupees 卢比",
        "KRW": "krw won 韩元",
        "HKD": "hkd 港币 港元",
        "CHF": "chf franc francs 瑞士法郎",
        "AUD": "aud 澳元",
        "CAD": "cad 加元",
        "THB": "thb baht 泰铢",
        "RUB": "rub ruble rubles rouble 卢布",
        "CENT": "cent cents 美分",
        "PENCE": "pence",
        "FEN": "分钱 毛 角",
    }.items()
    for name in names.split()
}
CASED_UNITS = {"MBps": ("byterate", Fraction(10**6)), "KBps": ("byterate", Fraction(10**3)),
               "GBps": ("byterate", Fraction(10**9)), "Mb": ("bits", Fraction(10**6)),
               "Gb": ("bits", Fraction(10**9)), "Kb": ("bits", Fraction(10**3))}  # fmt: skip
"""Units whose letters mean something else in another case."""

_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
           "k": 1000, "mn": 10**6, "bn": 10**9, "dozen": 12, "grand": 1000}  # fmt: skip
NUMBER_WORDS = frozenset([*_SMALL, *_TENS, "hundred", "thousand", "million", "billion", "trillion"])
SCALES = {name: Fraction(value) for name, value in _SCALES.items()}
FRACTION_WORDS = {"half": Fraction(1, 2), "halves": Fraction(1, 2), "quarter": Fraction(1, 4),
                  "quarters": Fraction(1, 4), "third": Fraction(1, 3), "thirds": Fraction(1, 3),
                  "fifth": Fraction(1, 5), "fifths": Fraction(1, 5), "sixth": Fraction(1, 6), "sixths": Fraction(1, 6),
                  "eighth": Fraction(1, 8), "eighths": Fraction(1, 8), "tenth": Fraction(1, 10), "tenths": Fraction(1, 10),
                  "hundredth": Fraction(1, 100), "hundredths": Fraction(1, 100)}  # fmt: skip
ORDINALS = {
    word: number
    for number, word in enumerate(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
        thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split(),
        1,
    )
} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50}
DECADES = {"twenties": 20, "thirties": 30, "forties": 40, "fourties": 40, "fifties": 50, "sixties": 60,
           "seventies": 70, "eighties": 80, "nineties": 90}  # fmt: skip
MONTHS = {
    name: number
    for number, names in enumerate(
        """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug
        |september sep sept|october oct|november nov|december dec""".split("|"),
        1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        """monday mondays mon|tuesday tuesdays tues tue|wednesday wednesdays wed|thursday thursdays thurs thu
        |friday fridays fri|saturday saturdays sat|sunday sundays sun""".split("|"),
        1,
    )
    for name in names.split()
}
_HAN_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
HAN_NUMBER = re.compile(f"[{_HAN_NUMERAL}]+(?:点[{_HAN_NUMERAL}]+)?")
_HAN_DIGITS = str.maketrans("零〇一二三四五六七八九", "00123456789")


def english_number(words: list[str]) -> Fraction | None:
    """Value of number words ("two thousand four hundred"), or None if they form no one number."""
    words = [word for word in words if word != "and"]
    if "point" in words:
        at = words.index("point")
        head, tail = english_number(words[:at]), words[at + 1 :]
        digits = "".join(str(_SMALL.index(word)) for word in tail if word in _SMALL[:10])
        if head is None or len(digits) != len(tail) or not digits:
            return None
        return head + Fraction(int(digits), 10 ** len(digits))
    try:
        return Fraction(text2num(" ".join(words), "en"))
    except ValueError:
        return None


@lru_cache(4096)
def han_number(run: str) -> Fraction | None:
    """Value of a run of Chinese numerals, or None if it is none."""
    if len(run) > 1 and not set(run) - set("零〇一二三四五六七八九"):
        return Fraction(int(run.translate(_HAN_DIGITS)))
    try:
        return Fraction(str(cn2an.cn2an(run.replace("〇", "零"), "smart")))
    except ValueError:
        return None


def clock(text: str) -> str:
    """Minutes after midnight of "7:30 pm", "3pm" or "15:00"."""
    half = re.search(r"([ap])\.?m", text.lower())
    parts = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = parts[0], parts[1] if len(parts) > 1 else 0
    if half:
        hour = hour % 12 + (12 if half.group(1) == "p" else 0)
    seconds = f":{parts[2]}" if len(parts) > 2 and parts[2] else ""
    return f"{hour * 60 + minute}{seconds}"
