"""Decides whether two Chinese texts are one, but for an organisation written out or in short (浙大, 浙江大学)."""

import re

from service.guards import han

_KINDS = "保险 监督局 管理局 大学 学院 银行 集团 公司 医院 联盟 联赛 组织 委员会 中学 小学 协会 电视台 出版社 航空 铁路 研究院 法院".split()
"""What the full name of an organisation ends with."""
_NAMED = re.compile("|".join(_KINDS))
_OFTEN_LEFT_OUT = frozenset({"大学", "学院"})
"""Kinds that a short name may do without (北航, 同济)."""
_SHORTEST = 2
_SHORTEST_FULL = 4
_LONGEST_SHORT = 4
_MOST_LEFT_OUT = 8
"""Characters by which a short name is shorter than the full one."""
_PROVINCES = dict(
    pair.split("=")
    for pair in (
        "川=四川 沪=上海 粤=广东 湘=湖南 鄂=湖北 豫=河南 鲁=山东 晋=山西 皖=安徽 赣=江西 闽=福建 苏=江苏 渝=重庆 京=北京 津=天津 黔=贵州"
        " 滇=云南 陇=甘肃 琼=海南 冀=河北 桂=广西 藏=西藏 蒙=内蒙古 台=台湾 港=香港 澳=澳门"
    ).split()
)
"""The one character that stands for a province or a city."""
_WIDEST_PART = 3
"""Characters of a part of a name, of which the short form has one."""


def differ_by_a_short_name(left: str, right: str) -> bool:
    """Whether the two texts are equal but for one name, short in one and full in the other."""
    short, long = sorted((left, right), key=len)
    if not 1 <= len(long) - len(short) <= _MOST_LEFT_OUT or not _NAMED.search(long):
        return False
    start = _in_common(short, long)
    end = _in_common(short[start:][::-1], long[start:][::-1])
    return any(
        1 < len(short) - last - first <= _LONGEST_SHORT
        and _shortens(short[first : len(short) - last], long[first : len(long) - last])
        for first in range(start, max(-1, start - _LONGEST_SHORT), -1)
        for last in (end, end - 1)
        if last >= 0
    )


def _in_common(left: str, right: str) -> int:
    """Characters that two texts begin with."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (mine, yours) in pairs if mine != yours), min(len(left), len(right)))


def _shortens(short: str, long: str) -> bool:
    """Whether a name has one character of each part of the long one, up to the kind that ends it."""
    return any(
        _takes_each_part(short, long.removeprefix(country).replace("管理", ""))
        for country in ("中国", "")
    )


def _takes_each_part(short: str, full: str) -> bool:
    kind = next((kind for kind in _KINDS if full.endswith(kind)), "")
    if not kind or short.endswith(kind) or len(full) < _SHORTEST_FULL:
        return False
    if kind in _OFTEN_LEFT_OUT and full == short + kind:
        return short not in han.kinds() and short not in _PROVINCES.values()
    at = 0 if short[0] == full[0] else len(_PROVINCES.get(short[0], "")) - 1
    if at < 0 or (at and not full.startswith(_PROVINCES[short[0]])):
        return False
    for char in short[1:]:
        at = full.find(char, at + 1, at + _WIDEST_PART + max(1, len(kind) - 1))
        if at < 0:
            return False
    return at >= len(full) - len(kind) or (
        kind in _OFTEN_LEFT_OUT and len(short) == _SHORTEST <= at
    )
