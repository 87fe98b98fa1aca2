"""Decides which words of a Chinese text only ask politely, and ask for nothing themselves."""

import re

_SORRY = "冒昧|打扰|打搅|不好意思|抱歉|对不起|劳驾|劳烦|麻烦|辛苦|有劳|烦请|敢问|借问|请教|请问|想问|弱弱地?|顺便|突然想"
_TO_SOMEONE = "(?:您|你们?|大家|各位|(?:老师|客服|大佬)们?(?=[，, ]))?"
_BIT = "(?:一下|下(?![载单午周个月班星雨雪一次车楼线架面册级届旬海属巴]))"
"""A bit (问下), and not the beginning of 下载, 下周."""
_A_BIT = f"(?:{_BIT}|一句|一声|个事|件事)?"
_TELL = (
    f"(?:告诉|告知|讲解|讲讲|讲|说说|说明|说(?={_BIT})|解释解释|解释|介绍(?={_BIT})|解答|科普|指点(?={_BIT})|透露(?={_BIT})"
    f"|回答(?={_BIT})|教教|教){_BIT}?"
)
_ASKS_LATER = "(?=[^，。？?!！]{0,60}(?:怎么|如何|怎样|咋|哪|谁|几|多[少久长大高远]|什么|啥|为何|是否|吗|能不能|可不可以|有没有))"
_FRAMES = tuple(
    re.compile(rule)
    for rule in (
        rf"(?:(?:{_SORRY})了?{_A_BIT}[，,、：: ]*){{1,3}}(?:地)?(?:想)?(?:问|请教|打听|咨询|了解){_TO_SOMEONE}{_A_BIT}[，,：: ]*{_ASKS_LATER}",
        rf"^请问{_TO_SOMEONE}{_BIT}?[，,：: ]*",
        rf"(?:想|我想|我)?(?:问|请教|咨询){_TO_SOMEONE}(?:一?个)?(?:小|简单的?|低级的?|小白|傻|基础的?|很?简单的)?问题[，,：:。！! ]*{_ASKS_LATER}",
        rf"^(?:(?:{_SORRY})了?{_A_BIT}[，,、：: ]*){{0,3}}(?:{_SORRY})了?{_A_BIT}[，,、：: ]+",
        rf"(?:能否|能不能|可否|可不可以|可以|方便|是否方便|方不方便|能|请|麻烦|烦请|劳烦|劳驾|有劳|恳请|拜托|求|(?:有没有人|有人|有谁|谁|哪位|大家)(?:能够?|可以))(?:能否|请|劳烦|麻烦|劳驾|烦请)?{_TO_SOMEONE}(?:能不能|能否|可否|可以|能)?(?:帮我|帮忙|给我|跟我|为我|替我|给大家)?{_TELL}(?:我们|我|咱们?)?{_BIT}?[，,：: ]*{_ASKS_LATER}",
        r"[，,。！!？? ]*(?:谢谢|多谢|感谢|拜托|麻烦|辛苦|谢)(?:了|啦|你|您|大家|各位|老师|大佬|感激|不尽)*[。！!~～]*$",
    )
)


def without_thanks(text: str) -> str:
    """The text without thanks at its end."""
    return _FRAMES[-1].sub("", text)


def without_politeness(text: str) -> str:
    """The text without its polite frame; a text that is nothing else stays as it is."""
    bare = text
    for frame in _FRAMES:
        bare = frame.sub("", bare)
    return bare if bare.strip(" ，。？！,.?!") else text
