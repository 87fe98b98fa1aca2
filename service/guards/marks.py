"""Decides which small words mark quantity, time, permission, question and possession in a text."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from service.guards.inflections import inflection, is_graded
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.text import Token

_QUANTIFIERS = {
    **dict.fromkeys(en.UNIVERSAL, "all"),
    **dict.fromkeys(en.SOME, "some"),
    "any": "any", "only": "only", "solely": "only", "exclusively": "only", "atleast": "atleast", "atmost": "atmost",
    "notall": "notall", "except": "except", "excluding": "except", "including": "including", "most": "most", "least": "least", "fewest": "least",
    "more": "more", "less": "less", "fewer": "less", "anyone": "any", "anybody": "any",
    "single": "one", "minimum": "atleast", "maximum": "atmost", "always": "always", "sometimes": "sometimes",
    "morethan": "morethan", "lessthan": "lessthan", "multiple": "many", "many": "many", "few": "few",
    "often": "often", "frequently": "often", "rarely": "rarely", "seldom": "rarely", "hardly": "rarely",
    "barely": "rarely", "scarcely": "rarely",
}  # fmt: skip
_MODALS = {
    "must": "must", "mandatory": "must", "required": "must", "obliged": "must", "obligatory": "must",
    "may": "may", "can": "may", "could": "may", "allowed": "may", "permitted": "may", "able": "may", "possible": "may",
    "should": "should", "ought": "should", "recommended": "should", "advisable": "should",
    "必须": "must", "需要": "must", "要": "must", "得": "must", "一定要": "must",
    "可以": "may", "能": "may", "能够": "may", "允许": "may", "应该": "should", "应": "should", "该": "should",
}  # fmt: skip
_QUESTIONS = {
    "how": "how", "why": "why", "when": "when", "where": "where", "who": "who", "whom": "who", "whose": "who",
    "what": "what", "which": "what", "howlong": "howlong", "howmany": "howmany", "howmuch": "howmuch",
    "howoften": "howoften", "howfar": "howfar", "howold": "howold",
    "为什么": "why", "怎么": "how", "如何": "how", "怎样": "how", "什么时候": "when", "哪天": "when", "哪里": "where",
    "谁": "who", "多久": "howlong", "多长时间": "howlong", "价格": "howmuch", "多少": "howmany", "几": "howmany",
    "什么": "what", "哪些": "what", "哪个": "what", "哪款": "what", "怎么样": "what", "多远": "howfar",
}  # fmt: skip
_MEASURES = frozenset(
    "米 公里 里 度 岁 人 个 层 台 本 辆 只 条 名 位 平方米 平米 种 家 所 站 页".split()
)
_AUXILIARIES = frozenset(
    "is are was were do does did can could may might must should will would has have had shall am".split()
)
_SUBJECTS = frozenset({"who", "what", "which"})
_CLAUSE_OPENERS = frozenset({"when", "where"})
_BOUNDS = {
    "under": "lessthan", "below": "lessthan", "over": "morethan", "above": "morethan", "exceeding": "morethan",
}  # fmt: skip
"""Small words that bound the amount behind them."""
_MINE = frozenset("i me my mine we us our ours myself".split())
_DEICTIC = frozenset({"last", "next", "this", "past", "coming"})
_SPANS = frozenset(
    """week weeks month months year years day days night morning evening afternoon weekend quarter spring summer autumn
    fall winter monday tuesday wednesday thursday friday saturday sunday""".split()
)


class Marks(NamedTuple):
    """The marks of one text; every field may be empty."""

    quantifiers: frozenset[str]
    states: frozenset[str]
    modals: frozenset[str]
    question: str
    yes_no: bool
    past: bool
    present: bool
    future: bool
    acted: bool
    mine: bool
    owners: frozenset[str]
    degrees: tuple[tuple[str, str], ...]
    states_only: bool


@dataclass
class MarkReader:
    """Collects marks while the tokens are walked."""

    quantifiers: set[str] = field(default_factory=set)
    states: set[str] = field(default_factory=set)
    modals: set[str] = field(default_factory=set)
    question: str = ""
    yes_no: bool = False
    past: bool = False
    present: bool = False
    future: bool = False
    acted: bool = False
    """Whether who or what did something is asked, in the past (who replaced them)."""
    mine: bool = False
    each: bool = False
    """Whether 都 is said, which takes up whatever quantity was named before."""
    owners: set[str] = field(default_factory=set)
    degrees: list[tuple[str, str]] = field(default_factory=list)

    def english(self, key: str, lemma: str, stream: list[Token], at: int, *, owned: bool) -> bool:
        """Note what an English word marks; True where it is a mark only and no content."""
        after = stream[at + 1].key if at + 1 < len(stream) else ""
        opens = at == 0 or stream[at - 1].kind == "sym"
        if opens and key in _AUXILIARIES and not self.question:
            self.yes_no = True
        if key in ("was", "were", "did", "had"):
            self.past = True
        elif key in ("is", "are", "do", "does", "has"):
            self.present = True
        elif key in ("will", "shall") or (key == "going" and after == "to"):
            self.future = True
        asks_subject = at == 1 and stream[0].key in _SUBJECTS and key not in _AUXILIARIES
        if asks_subject and key != lemma and (key.endswith("ed") or en.IRREGULAR.get(key) == lemma):
            self.acted = True
        if key in _MINE:
            self.mine = True
        clause = (
            key in _CLAUSE_OPENERS
            and opens
            and after not in _AUXILIARIES
            and _asks_later(stream, at)
        )
        if key in _QUESTIONS and not self.question and not self.yes_no and not clause:
            self.question = _QUESTIONS[key]
        if key in _MODALS or (key in ("have", "need", "needs", "has") and after == "to"):
            self.modals.add(_MODALS.get(key, "must"))
        if key in _BOUNDS and at + 1 < len(stream) and stream[at + 1].kind == "num":
            self.quantifiers.add(_BOUNDS[key])
            return True
        span = after.removesuffix("'s")
        if key in _DEICTIC and span in _SPANS:
            self.states.add(
                f"{'next' if key == 'coming' else 'last' if key == 'past' else key} {span}"
            )
            return True
        if key == "last" and after in ("longer", "long", "for", "forever", "until"):
            return False
        if key in en.STATES and not (key == "second" and after in ("", "s")):
            self.states.add(en.STATES[key])
            return True
        if (
            key in ("most", "least", "more", "less")
            and after
            and is_graded(inflection(after).lemma)
        ):
            return False
        if key in _QUANTIFIERS:
            self.quantifiers.add(_QUANTIFIERS[key])
            return key not in ("minimum", "maximum", "many", "few")
        return False

    def chinese(self, key: str, stream: list[Token], at: int) -> None:
        """Note what a Chinese word marks."""
        asked = _question(key) if not self.question else ""
        if asked:
            after = stream[at + 1].key if at + 1 < len(stream) else ""
            counted = key in ("多少", "几") and after in _MEASURES
            self.question = "count" if counted else asked
        if key in _MODALS and not _is_polite(stream, at):
            self.modals.add(_MODALS[key])
        dated = at + 1 < len(stream) and stream[at + 1].kind == "date"
        if key in zh.STATES and (not dated or key.endswith("周")):
            self.states.add(zh.STATES[key])
        self.each = self.each or key == "都"
        if key in zh.QUANTIFIERS:
            self.quantifiers.add(zh.QUANTIFIERS[key])
        if key in ("我", "我的", "我自己", "我们"):
            self.mine = True

    def done(self, plain: str) -> Marks:
        """The marks as plain data."""
        if self.each and self.quantifiers & {"most", "some", "none", "any"}:
            self.quantifiers.discard("all")  # 大多数都 is most
        yes_no = self.yes_no or (not self.question and "吗" in plain)
        self.acted = self.acted or _WHO_DID.search(plain) is not None
        self.future = self.future or _WHO_WILL.search(plain) is not None
        self.past = self.past or _WAS_WHEN.search(plain) is not None
        self.future = self.future or _WILL_WHEN.search(plain) is not None
        return Marks(
            frozenset(self.quantifiers),
            frozenset(self.states),
            frozenset(self.modals),
            self.question,
            yes_no,
            self.past,
            self.present,
            self.future,
            self.acted,
            self.mine,
            frozenset(self.owners),
            tuple(self.degrees),
            _states_only(plain),
        )


def _asks_later(stream: list[Token], at: int) -> bool:
    """Whether a question word or an auxiliary follows behind a comma: when it rings, where do we go?"""
    return any(
        stream[place].text == "," and stream[place + 1].key in _QUESTIONS.keys() | _AUXILIARIES
        for place in range(at + 1, len(stream) - 1)
    )


_WAS_WHEN = re.compile(
    "什么时候(?!.{0,60}(?:开门|关门|开放|营业|上班|下班|上课|下课|发车|开始|结束)的).{0,60}的[？?]?$"
)
_WHO_DID = re.compile("谁[^会将要能可，。]{1,4}了")
_WHO_WILL = re.compile("谁(?:将会|将要|会|将)")
_WILL_WHEN = re.compile("什么时候(?!.{0,60}[的了过][？?]?$)(?!是)")
"""(是)什么时候到的 asks of what has been, 什么时候到 of what will be."""
_ASKING = re.compile(
    r"[?？]|[吗呢吧呗咱怎谁哪啥你您找]|请(?![帖柬])|帮(?!助)|(?<![思理梦联])想|(?<![主重必])要(?![素点塞员])|(?<![调检审])查|问(?!世)"
    r"|(?<!为)我|几(?!乎)|什么|如何|为何|多少|是否|能否|可否|推荐|告诉|介绍|需要|希望|多久|多长|写[个一段篇条]|生成|实现|翻译|总结|概括|解释"
)
_STATEMENT_CHARS = 16
_LONG_STATEMENT_CHARS = 22
_STATES = re.compile("[。是为被了于]")


def _states_only(plain: str) -> bool:
    """Whether a Chinese text asks nothing and wants nothing: material of which every part counts.

    A short one without a full stop and a small verb is a search for what it names.
    """
    return (
        len(plain) >= _STATEMENT_CHARS
        and (len(plain) >= _LONG_STATEMENT_CHARS or _STATES.search(plain) is not None)
        and any("\u4e00" <= char <= "\u9fff" for char in plain)
        and _ASKING.search(plain) is None
    )


_HOW_HAN = ("怎么", "如何", "怎样", "咋")
_WHERE_HAN = ("哪里", "哪儿", "在哪", "去哪", "从哪", "到哪")


@lru_cache(4096)
def _question(key: str) -> str:
    """What a Chinese word asks for, also within a longer one (该怎么办, 在哪里); "" for nothing."""
    if key in _QUESTIONS:
        return _QUESTIONS[key]
    if key not in zh.FUNCTION or key.endswith("办"):
        return ""  # 怎么办 may ask how or why
    if any(word in key for word in _HOW_HAN):
        return "how"
    return "where" if any(word in key for word in _WHERE_HAN) else ""


_ASKED = frozenset("你 您 我 帮 帮我 帮忙 给 给我 给我们 推荐 告诉 告诉我 介绍 麻烦 请".split())


def _is_polite(stream: list[Token], at: int) -> bool:
    """Whether the modal is part of asking (你能, 可以帮我, 我要), not of what is asked."""
    beside = {stream[place].key for place in (at - 1, at + 1) if 0 <= place < len(stream)}
    return not beside.isdisjoint(_ASKED)
