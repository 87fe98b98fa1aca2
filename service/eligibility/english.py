"""Reads an English request: opening, frame (question, value asked for, order, statement), and what it is about."""

import re
from dataclasses import dataclass

from service.eligibility import words

_CLASSES = {
    name.lower(): getattr(words, name)
    for name in (
        "OWN",
        "HELD",
        "ASKERS",
        "GENERIC",
        "REVEAL",
        "DEVICE",
        "ORDERED",
        "DEEDS",
        "TIME",
        "MODERN_CODE",
        "WISHED",
        "ACCOUNT",
        "HANDLING",
    )
}


def _compile(pattern: str) -> "re.Pattern[str]":
    for name, inside in _CLASSES.items():
        pattern = pattern.replace(f"<{name}>", inside)
    return re.compile(_boundary_first(pattern))


def _boundary_first(pattern: str) -> str:
    r"""Equal to the pattern, with the `\b` of its alternatives tested once a position: several times faster."""
    alternatives, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = pattern.index("]", at + 1)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            alternatives.append(pattern[start:at])
            start = at + 1
        at += 1
    alternatives.append(pattern[start:])
    bound = [one[2:] for one in alternatives if one.startswith(r"\b(?:") or re.match(r"\\b\w", one)]
    if len(alternatives) < 2 or len(bound) < 2:
        return pattern
    others = [one for one in alternatives if one[2:] not in bound or not one.startswith(r"\b")]
    return "|".join([rf"\b(?:{'|'.join(bound)})", *others])


def _any(block: str) -> "re.Pattern[str]":
    """One pattern out of a block with an alternative a line."""
    return _compile("|".join(line.strip() for line in block.strip().splitlines()))


_OPENING = _compile(words.OPENING)
_ASKED = _compile(
    r"(?:(?:do|did|would) you (?:happen to )?(?:know|remember|recall|have)(?: if| whether)?|any idea|i don't (?:know|remember)|<reveal>)\b"
    r"(?: me| us)?(?: please| again| quickly)?(?: about| of| on| for| with| in| out| through| over)?(?: if| whether)?(?: please)?[\W_]*"
)
_WISHED = _compile(words.WISHED)
_STEM = re.compile(r"\b[a-z]{1,4}")
HOW_TO = _compile(
    r"\bhow (?:do|does|can|could|should|would|will|might|to|about)\b(?! (?:much|many|long|old|far|i (?:look|compare|rank|stand)|my|the)\b)"
    r"|\bhow (?:i|we|you|one|someone) (?:can|could|should|would|do|go)\b"
    r"|\b(?:what|which)(?:'s| is| are| would be)? (?:the |a )?(?:best |easiest |quickest |right |proper )?(?:way|steps?|process|procedure|method|protocol)s?\b"
    r"|\b(?:instructions?|guide|tutorial|steps|directions|way|ways|process|procedure) (?:for|on|to|of|in)\b"
    r"|\bwhere (?:can|do|could|should|would) (?:i|we|you|one)\b|\bis (?:it|there) (?:possible|a way|any way)\b"
)
WHY = re.compile(r"\b(?:why|how come|reason)\b")
_MAY_I = _compile(
    r"\b(?:can|could|may|should|must|shall|would|will) (?:i|we|one|they|he|she|it|anyone)\b(?! (?:please )?(?:see|check|view|know|look|review|afford)\b)|\b(?:can|could|may|should|must|would) my\b|\b(?:am i|are we) (?:able|allowed|permitted|required|supposed|going)\b"
    r"|\bdo (?:i|we) (?:have to|need|get charged|pay)\b(?! (?:my|the|that|on)\b)|(?<!know )(?<!wonder )(?<!see )(?<!check )(?<!tell me )(?<!me )(?<!sure )\b(?:if|once|unless) (?:i|my|we|you)\b(?! (?:have|had|got) (?:any|enough|a|an|last)\b)"
)
"""Asks about the rules, for whoever asks."""

VALUE_QUESTION = _compile(
    r"(?:(?:what|which|who|whose|when|where|whats|whens|wheres|whos|what're|how (?:much|many|long|old|far|full|low|high|is|are|was|were|'s|am|often|bad|good|big|large|recently|soon|about|does|did|do|has|have))(?:'s|'re|'ve)?|hows|how's)\b"
)
_YES_NO = re.compile(
    r"(?:is|are|was|were|am|has|have|had|did|do|does|anything|any|got|isn't|aren't|didn't)\b"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rules look at: the text as it came and in lower case, its part after the opening, and its frame."""

    original: str
    text: str
    core: str
    inner: str
    """The core behind «tell me», «can you check»; equal to the core where nothing of the kind is there."""
    asked: bool
    wished: bool
    how_to: bool
    why: bool
    stems: frozenset[str]
    """The first four letters of each word; a rule that needs one of some words is only run with one of them."""


_FILE = re.compile(r"\bmy(?=[._-]\w)")


def read(text: str) -> Reading:
    """Find opening and frame. `text` is flat and of bounded length."""
    low = _FILE.sub("x", text.lower())
    opened = _OPENING.match(low)
    core = low[opened.end() :] if opened else low
    found = _ASKED.match(core)
    return Reading(
        text,
        low,
        core,
        core[found.end() :] if found else core,
        found is not None,
        _WISHED.search(low, 0, len(low) - len(core)) is not None,
        HOW_TO.search(low) is not None,
        WHY.search(low) is not None,
        frozenset(_STEM.findall(low)),
    )


# ---------------------------------------------------------------- personal

_SOFTWARE = re.compile(
    r"\b(?:gmail|outlook|google (?:calendar|docs|sheets|apps?|drive)|yahoo|excel|facebook|ubuntu|linux|windows|android|ios|wordpress|trello|evernote|thunderbird|exchange server|python|java|php|sql\w*|api|smtp|imap)\b"
)
_HOUSEHOLD = _any(
    r"""
    \b(?:when|what day|what date|how much|how long|date|by when|time)\b.{0,40}\b(?:pay|due|owe|spend|cost)\b.{0,25}\b(?:bills?|rent|mortgage|loan|(?:my|the) (?:\w+ )?(?:card|internet|water|electric\w*|phone|mastercard|visa|cable))\b(?! (?:fee|payment fee)\b)
    \b(?:bill|rent|mortgage|credit card|mastercard|visa|car payment)s?\b.{0,25}\b(?:due|be paid)\b|\b(?:how much (?:is|are|was)|what(?:'s| is| are)|amount of|cost of)\b.{0,15}\b(?:my|the) (?:\w+ ){0,3}(?:bills?|rent)\b
    \b(?:when|how long|how soon|which month|what month|what (?:day|date)|month|date)\b.{0,45}\b(?:my|the|i|card'?s?)\b.{0,30}\b(?:expires?|expiry|expiration|valid(?:ity)?|paychecks?|pay ?day|next check|get paid|paid|be due|due)\b|\bmy (?:\w+ ){0,4}(?:card|license|passport|membership|subscription|contract)(?: will| is going to)? expires?\b(?=.{0,12}$)
    \b(?:next|last) (?:paychecks?|pay ?checks?|check|payday)\b|\b(?:expiration|expiry|due) (?:date|month|year)\b.{0,30}\b(?:my|the|on|for)\b
    \b(?:is there|there's|have|got|enough|sufficient|any|much|left|afford)\b.{0,40}\b(?:in|from|on|between) (?:my|the|all|our) (?:[\w&'.-]+ ){0,5}(?:accounts?|savings|checking|wallet|bank)\b
    \b(?:enough|much|amount of|low on|left|remaining|sufficient|any|needing)\b.{0,25}\b(?:fuel|gas|gasoline|petrol)\b(?! (?:prices?|bill|law|station|mileage)\b)|\b(?:fuel|gas|gasoline)\b.{0,15}\b(?:do i have|i have|left|level|tank|gauge|low|remaining|go(?:es)?)\b|\b(?:what|which|kind of|type of|sort of|certain|any|regular|premium)\b.{0,12}\b(?:gas|fuel|unleaded|gasoline|octane|diesel)\b.{0,25}\b(?:should|need\w*|use|take|put|get|require\w*|best|buy|fill)\b|\brun(?:ning)? out of (?:gas|fuel)\b|\bmiles\b.{0,30}\b(?:gas|tank|fuel|left)\b|\b(?:gas|fuel|octa\w*|oil)\b.{0,25}\b(?:for|in) (?:this|my|the|that) (?:\w+ )?(?:car|vehicle|truck|tank)\b|\b(?:car|vehicle|truck)\b.{0,25}\b(?:gas|fuel|unleaded|octa\w*)\b|\b(?:take|need|use|put)\b.{0,15}\b(?:unleaded|premium|diesel|regular gas)\b
    \b(?:do|when|should|would|need|time|how soon|how long)\b.{0,45}\b(?:tires?|tyres?)\b|\b(?:tires?|tyres?)\b.{0,30}\b(?:need|due|changed|replaced|when|low)\b|\bair in (?:my|the) (?:tires?|tyres?)\b
    \b(?:need|want|like|help|could|can|please|trying|have|wish|status|check\w*|know|get|advise|locate)\b.{0,60}\b(?:(?:my|the|of my|in my) (?:[\w-]+ ){0,3}(?:balance|payment status|account status)|policy (?:number|#|no\b|id))(?! (?:not|has|did|was)\b)|\bstatus of (?:my|the|our) (?:\w+ ){0,2}(?:order|request|payment|claim|application|bill|delivery|package|case|ticket|account|vacation|pto|leave)\b|\b(?:pto|vacation|leave|time off|days? off|holiday) (?:days? )?(?:request|approv\w+|status|accepted)\b|\bpayment (?:i sent|i made)\b.{0,10}\bwent through\b
    \b(?:what(?:'s| is)|need|know|tell me|check|give me|get|how (?:high|good|is|low))\b.{0,40}\b(?:apr|credit limit|limit|interest(?: rate)?)\b.{0,20}\b(?:on|for|of|with|at) (?:my|the|this) (?:[\w&'.-]+ ){0,4}(?:card|account|visa|mastercard|amex|loan|savings|mortgage|checking)\b
    \bhealth (?:plan|benefits|insurance|coverage)\b.{0,20}$|\b(?:insurance|health) (?:plan|coverage|benefits) (?:do )?i(?:'m| am)? (?:have|enrolled|on|in)\b
    """
)
"""Bills, tanks, tyres, cards: a household's own values, also asked for with «should» and «will»."""


_OWN_VALUE = _compile(r"(?:\S+ ){0,9}?(?:my|mine)\b(?! (?:nearest|closest|area)\b)")
_OWN_HELD = _compile(r"\b<own> (?:[\w'&.-]+ ){0,4}?<held>\b")
_GENERIC = _compile(r"\b<generic>\b")
_ASKERS = _compile(r"(?<!\ba )(?<!\ban )\b<askers>\b")
_LEAD = re.compile(
    r"^(?:(?:new|recent|any|unread|the|last|open|all|my|this|this week'?s|upcoming|refresh|check|status of|list|show|no|what|those|to do) )+"
)
_DEFINITION = _compile(
    r"\b(?:do|does|can|should|must) (?:an?|the|most|all|every) \w+\b|\b(?:employees?|people|someone|customers?|users?|everyone|anyone|by law)\b|\bwhat(?:'s| is| are|s)? (?:a|an|\w+ \w+ mean)\b|\bwhat(?:'s| is) \w+\W*$|\bstands? for\b|\bmeans?\b|\bdefin|\b(?:does|do|it|they) (?:\w+ ){0,3}work\b|\bgood\b|\bpolicy\b(?! num)|\baverage\b|\bcalculated\b|\bnormal\b|\bideal\b|\bbest\b"
)
_I_STATE = _any(
    r"""
    \b(?:did|have|had|was|were) (?:i|we)\b(?! (?:been charged|charged|get charged|to)\b)
    \b(?:do|does) (?:i|we) (?:still |currently |already |also |really |even |actually )?(?:have(?! to\b)|own|owe|make|earn|get paid|get off|spend|got|weigh|look|stand|know|like|last|next|finally|use)\b
    \bam i\b(?! (?:able|allowed|permitted|required|supposed|going to be charged|being|charged|not able|unable|not being|getting (?:charged|an?\b|another)|still being|seeing|talking|speaking|chatting|your|a robot|the only)\b)
    \b(?:what|how much|how many|when|which|any \w+|everything|date|time|last|all|it)\b.{0,30}\b(?:i|we)(?:'ve| have| am|'m)? (?:still |currently |already |last |recently |just )?(?:owe|owed|earn|earned|make|made|spent|spend|got paid|get paid|scheduled|have left|got left|left|used up|have (?:scheduled|planned|saved|due|on)|bought|purchased)\b
    \b(?:when|what|which|that|of \w+|time|day) (?:\w+ ){0,2}?i (?:last|have(?! to\b| an? (?:problem|issue|question))|had|get paid|got paid|received?|(?:am|'m) (?:enrolled|a member|signed up|registered|covered)|need to (?:pay|remember)|have to pay|want to remember|wanted to|was (?:to|supposed)|replaced|changed)\b
    \b(?:wanted|want|supposed|had|was) (?:\w+ )?to (?:remember|recall)\b|\bremind(?:ed)? me (?:of|what|about)\b|\b(?:things?|what|items?) i (?:need|have) to do\b|^what do i (?:have|need) to do\W*$
    \b(?:which|what|the) (?:\w+ )?\w+ (?:that |do |did )?i (?:uploaded|ordered|requested|booked|scheduled|downloaded|visited|watched|bought|pay for|own|wear|see|take|sent|saved|wrote|planned|signed|follow)\b|\bremain\w* for me\b
    \bof mine\b|\b(?:assigned|sent|addressed|owed|shared|given|due|charged|delivered) (?:to|with) (?:me|us)\b
    \bwhere (?:i am|am i|we are|are we)\b|\bwho (?:i am|am i)\b
    """
)
_STATES = (
    r"(?:active|due|approved|accepted|denied|processed|valid|expir\w+|ready|shipped|delivered|arrived|here|scheduled|confirmed|low|okay|ok|good|up|enough|on|in|left|full|"
    r"empty|free|busy|set|current|overdue|paid|received|posted|cancell?ed|sent|refunded|reply|replied|call|called|respond|write|under|covered|still|reviewed|granted|late|finished|high|available|bad|gone through|go through|back|need|safe to drive|worn|flat|fine|inflated|posted|come)"
)
_MY_STATE = _compile(
    rf"(?:is|are|was|were|has|have|did|does|do)(?:n't)? (?:[\w'-]+ ){{0,3}}?my (?:[\w'-]+ ){{0,4}}?{_STATES}\b"
)
_ASKED_LAST = re.compile(r"\b(?:is|are|was) (?:what|how much|when|where|how many)\W*$")
_SPENT = re.compile(
    r"\b(?:transactions?|purchases?|spending)\b(?:.{0,20}\b(?:on|at|from|in|for|of|last|my|history|related)\b|\W*$)"
)
_IS_MY = _compile(
    r"(?:is|are|was|were|has|have|did|does|do)(?:n't)? my (?:[\w'&.-]+ ){0,3}?<held>\b"
)
_WHETHER_MY = re.compile(r"\b(?:if|whether) my\b")
_NUMBERED = _compile(
    r"\b(?:account|order|ticket|case|claim|invoice|booking|policy|tracking|reservation)(?: number| no\.?| id)?\s*[:#]?\s*[a-z]*\d{3,}"
)
_SELF = _any(
    r"""
    \b(?:what|do you|you|say|know|remember|tell me|recall|my) (?:\w+ ){0,4}?(?:my|me) (?:(?:first|last|full|real|user|current|given) )?(?:name|nickname)\b(?! is\b)|\bname\b.{0,25}\b(?:for|call|to|of) me\b|\bhow is my name\b|\bwhat\b.{0,35}\b(?:called|refer(?:red)?|know me|nym|names?)\b.{0,20}\b(?:me|i'm|i am|i be.{0,15} as)\b|\b(?:think|say|know) i(?:'m| am)\b|\bi be (?:called|referred)|\b(?:know|what) (?:what )?(?:you call me|i'm called|i am called)\b|\bmy name\W*$|\bwhat do you call me\b|\bcalling me\b|\b(?:know|tell me|say|remember|guess) who i am\b
    \b(?:what|which|name of|know|tell me|who)\b.{0,20}\b(?:this|current|that) (?:song|track|tune|music|album|artist)\b|\b(?:what|which) (?:song|track|tune|music)\b|\b(?:song|track|music|tune) (?:is|that's|that is|i'm|currently|now|playing|on right)\b|\b(?:this|that) (?:song|band|artist|singer|album|track|tune|composer|release)\b|\b(?:title|name|singer|artist|writer|length) of (?:the )?song\W*$|\bthe song (?:is|on speaker|that|by)\b|^(?:who is |what is |tell me |name )?(?:the )?(?:singer|artist|song writer|artist name|song)\W*$|\bwho(?:'s| is)? (?:this on|sings?|singing|plays?|playing|sang|made) (?:this|that|it)\b
    \b(?:find(?:ing)?|locat(?:e|ing)|where|misplaced|track(?:ing)?|missing|seen|whereabouts|location of)\b.{0,30}\b(?:my|the) (?:\w+ )?(?:phone|cell|cellphone|iphone|keys|device|wallet|luggage|bags?|suitcase|package|order)\b
    \bmy (?:phone|cell\w*|iphone|keys)\b.{0,30}\b(?:find|where|locate|track)\b|\b(?:find|locate|track) (?:a|my|the) phone\b
    \b(?:my|our|present|current|exact) (?:\w+ )?(?:location|whereabouts|coordinates|position)\b|\bwhere (?:am i|i am|are we|we are|i'm)\b
    """
)
_FEES = re.compile(r"\b(?:fees?|charges?|accepted|supported|works?)\b")
_RENAMES = re.compile(
    r"\b(?:change|update|edit|correct|married|misspelled|verif\w+|prov(?:e|ing))\b"
)
_THE_CAR = _compile(
    r"\b(?:my|the|this|our) (?:\w+ )?(?:car|vehicle|tires?|tyres?|truck|tank|engine|jeep|honda|ford|toyota|bmw|suv)'?s?\b"
)
_CAR_STATE = re.compile(
    r"\b(?:pressure|fuel|gas|gasoline|unleaded|diesel|octane|tank|mileage|maintenance|serviced?|oil|inspect\w+|worn|air|tires?|tyres?|replace\w*|rotat\w+|shop|tuned?|check-?up|brakes|fill)\b"
)
_ITEMS = _any(
    r"""
    \b(?:is|are|was) (?:there )?(?:any|anything|something|a|an|\w+)(?: \w+){0,4} (?:on|in|for) (?:the|my) (?:\w+ )?(?:list|calendar|schedule|agenda|inbox|cart)\b
    \b(?:what|whats|what's|which|how many|any|anything|read|show|give|list|tell|check|open|find|see|do i|is|are)\b.{0,45}\b(?:on|in|from|of) (?:the|my|this|that) (?:\w+ ){0,2}(?:list|lists|calendar|schedule|agenda|inbox|to-?do|cart)\b
    \b(?:any|new|unread|recent|latest|last|my|the|check|read|open|got|received?|sent|today's)(?: \w+){0,2} (?:e-?mails?|mail|messages|inbox)\b(?! (?:address|account|server|template|list|in sql|client)\b)|\bemails? (?:from|about|regarding|received|in|today|have|did)\b|\bemailed me\b
    \b(?:have|has|did) (?:any|anyone|someone|anybody|[a-z]+) (?:e?mail|email|send|sent|write|text|message|call|reply|replied|respond|contact)\w*(?: to)? (?:me|us)\b
    \b(?:phone|mobile|cell|contact|home|office|telephone)? ?(?:number|address|contact details?|contact info\w*|email|e-mail|birthday) (?:for|of|is) (?:my |the )?(?:mom|mum|dad|mother|father|brother|sister|wife|husband|friend|boss|uncle|aunt|[a-z]+ from my|[a-z]+ in my)\b|\bmy (?:mom|mum|dad|mother|father|brother|sister|wife|husband|friend|boss|uncle|aunt|son|daughter)'?s? (?:\w+ )?(?:number|address|email|birthday|phone)\b
    \b(?:upcoming|next|scheduled|remaining|pending|planned|first|last|any|my|what|which|all|these|those|today's|tomorrow's|set)(?: \w+)? (?:alarms?|reminders?|meetings?|appointments?|schedules?)\b(?! (?:rooms?|clocks?|software|apps?)\b)
    \b(?:is|are|do|does|did|have|has|what time|when|when's|what|who|where|how long|how many)\b(?: \w+){0,4} (?:the |an? |any |my )?(?:alarms?|reminders?|meetings?|appointments?)\b(?! (?:rooms?|clocks?|software|apps?)\b)
    \b(?:show|give|tell|mention|check|what|what's|whats|provide|which|read|open)\b.{0,30}\b(?:the|my|all|current|available|me|work|are) lists?\b(?! of\b| comprehension| in python)
    \b(?:gmail|yahoo mail|e?mails?)\b.{0,20}\b(?:unread|new|received|inbox)\b|\b(?:unread|new|any|recent|last|latest) (?:e?mails?)\b
    \b(?:on|in) (?:the|my) (?:calendar|agenda|schedule)\b
    """
)


_PERSONAL_STEMS = frozenset(
    "my our mine i me us we im who song trac tune musi arti bala due date cred scor limi tire tyre shop groc todo to do list remi "
    "cale agen inbo payc pay payd pto vaca days gas fuel tank alar e emai mail cont appo meet poli acct sche upco even loca rewa "
    "poin card expi tran purc spen bill rent mort util heal insu hous leav holi stat apr inte acco savi wall bank cell phon keys "
    "devi luck lugg bag bags suit pack orde tick case clai invo book trac car vehi truc engi jeep hond ford toyo bmw suv numb addr birt mess "
    "air next last unle octa dies miss call voic".split()
)


def personal(at: Reading) -> str | None:
    """The words by which the answer would hold a value of the asker's own, or None."""
    if at.how_to or at.why or at.stems.isdisjoint(_PERSONAL_STEMS):
        return None
    numbered = _NUMBERED.search(at.text)
    if numbered:
        return numbered.group()
    found = _SELF.search(at.text)
    if found and not _RENAMES.search(at.text):
        return found.group()
    is_value = VALUE_QUESTION.match(at.inner) is not None or _ASKED_LAST.search(at.text) is not None
    is_question = is_value or at.asked or _YES_NO.match(at.inner) is not None
    if " my " not in at.text and _SOFTWARE.search(at.text):
        return None
    generic = _GENERIC.search(at.text) is not None
    if not generic and (" my " in at.text or not _DEFINITION.search(at.text)):
        found = _HOUSEHOLD.search(at.text) or (_SPENT.search(at.text) if at.asked else None)
        if found:
            return found.group()
    is_rule = _MAY_I.search(at.text) is not None
    if is_question and not is_rule:
        own = _about_own(at, is_value=is_value, generic=generic)
        if own:
            return own
    if not is_rule:
        return _somebodys_item(at, is_question=is_question, generic=generic)
    return None


def _about_own(at: Reading, *, is_value: bool, generic: bool) -> str | None:
    whether = _WHETHER_MY.search(at.core) if at.asked else None
    if whether and not _FEES.search(at.text):
        return whether.group()
    if generic:
        return None
    found = _I_STATE.search(at.inner)
    if found:
        return found.group()
    is_asked = is_value or at.asked
    own = _OWN_VALUE.match(at.inner) if is_asked else None
    if own:
        return own.group()
    held = _OWN_HELD.search(at.inner) if is_asked else None
    if held:
        return held.group()
    state = _MY_STATE.match(at.inner) or _IS_MY.match(at.inner)
    return state.group() if state else None


def _somebodys_item(at: Reading, *, is_question: bool, generic: bool) -> str | None:
    if " my " not in at.text and _DEFINITION.search(at.text):
        return None
    car = _THE_CAR.search(at.text)
    if car and is_question and _CAR_STATE.search(at.text):
        return car.group()
    found = _ITEMS.search(at.text) if is_question else None
    if found:
        return found.group()
    askers = _ASKERS.search(at.inner) if is_question else _ASKERS.match(_LEAD.sub("", at.inner))
    if askers and not generic:
        return askers.group()
    if not is_question and at.inner.count(" ") < 6:
        held = _OWN_HELD.match(at.inner)
        return held.group() if held else None
    return None


# ---------------------------------------------------------------- acting

_ASKS_ABOUT = re.compile(
    r"(?:what|what's|why|when|where|who|which|is|are|does|was|were|did|how|do (?:i|we|you|they)|(?:can|could|may|should|must|shall|will|would) (?:i|we|one|they|he|she|it|my)|am i|has|have)\b"
)
_CODE = _compile(r"[`(={};]|\b<modern_code>\b")
_HOME = _compile(
    r"\b(?:my|our) (?:\w+ ){0,4}?<device>\b|\b(?:to-?do|shopping|grocery) list\b|\b(?:calendar|playlist)\b"
)
_ERRAND = re.compile(
    r"(?:book|reserve|order (?!by)|get (?:me|us)|deploy|redeploy|revoke|grant|scale|rotate|share|restart|reboot|merge the|approve|assign|find|need|want|play)\b"
)
_CERTAIN = re.compile(
    r"[$£€]\s?\d|\b(?:freeze|call|calendar|list|alarm|flight|hotel|table|reservation|savings|checking|from .{1,40} to)\b"
)
"""Words that make a wish about an account an order all the same."""
_NO_CODE = _any(
    r"""
    (?:please )?(?:book|reserve|get|make|arrange|need|find|schedule|set|want|reverse)(?: me| us)?(?: an?| the| some| another| my)? (?:\w+ ){0,3}?(?:table|spot|seats?|room|suite|hotel|car|flights?|reservations?|uber|taxi|cab|lyft|ride|appointment|rental|bookings?|tickets?)\b(?!.{0,20}\b(?:row|column|sql|query)\b).*(?:\b(?:for|at|in|on|to|from|near|under|with|by|please)\b|$)
    (?:reserve|book|order|rent|tweet|retweet|mute|unmute|snooze|dim|brighten|pause|resume|unpause|skip|replay|vacuum|reschedule|wake|remind|hush)\b(?! by\b| of\b)
    (?:play|loop|shuffle|repeat)\b(?! (?:a role|the role|an important))
    (?:call|phone|ring|dial)(?: up)? (?!a\b|an\b|it\b|of\b|for\b|for\b|stored|function|method|python|java\w*|c\b|c\+|r\b|to\b|stack|center|from|by|web|rest|api|another|multiple|the (?:function|method|same|super|parent))\w+
    (?:text|message) (?!to\b|mining|files?\b|fields?\b|box|editor|from\b|in\b|class\w*|data|messages?\b|queue|between|with|wrap|align|search|broker)\w+
    (?:send|give|shoot|drop|write|compose|forward|read and reply|reply|email)\b.{0,30}\b(?:an? )?(?:text|e-?mails?|messages?|call|note|reply|ring)\b(?!.{0,30}\b(?:using|via|in|from) (?:sql|python|java|php|c#)\b)
    (?:turn|switch|shut|power|crank|bring|tone|cut|kill)\b.{0,40}\b(?:on|off|up|down|out|lights?|power)\b
    share .{1,40} with \w+|(?:hang up|log out|sign out)\b
    (?:slow down|speed up|louder|quieter|softer|brighter|darker|more light|volume|lights?|be (?:quiet|silent)|shut up|abort|undo|never ?mind|forget it|go (?:back|silent|forward|past|on|to sleep)|go (?:in)?to (?:the )?(?:next|upcoming|whisper|channel|\w+ mode)|enter \w+ mode|refrain|move on\w*|fast forward|off the)\b
    (?:stop|cancel|exit|quit|end|abort|halt|next|skip|pause|leave)\b(?: (?:it|that|this|now|please|talking|everything|all|action|request|what|the|my|your|speaking|whispering|playing|making|doing|current|whisper|after)\b.*|\W*)$
    (?:speak|talk|respond|answer|reply|converse|communicate)\b.{0,30}\b(?:in|to me|with|slow\w*|fast\w*|quick\w*|loud\w*|\w+er)\b|(?:speak|talk|whisper)\b(?! to you (?:later|soon|tomorrow)| about| with you)
    (?:add|put|include|place|stick|throw|insert|move|save|log|mark|note|enter|append|attach|set)\b.{1,80}\b(?:to|in|on|onto|into|down|off|for|as)\b.{2,}
    (?:rate|give|award)\b(?! me a random).{1,90}\b(?:stars?|points?|out of|of 6|/ ?\d|rating|\d+)\b|rate \S+
    (?:sync|unsync|pair|unpair|connect|disconnect|link)(?: (?:to|with|from|my|me|the|your|phone|up|device)\b)
    (?:listen to|hear|tune in(?:to)?|tune)\b.*|play\b.*|continue .*|(?:commence|find|get|have|restart|start|begin|resume|run|launch|use|enable|activate|try|open|reopen|make|brew|fix|prepare|clean|sweep|mop|hoover|create|new|generate|build)\b.{0,40}\b(?:music|songs?|radio|playlists?|mode|podcasts?|audio\w*|book|station|fm|game|chess|coffee|espresso|latte|lights?|room|floor|house|carpet|vacuum|robot|lists?|alarm|timer|socket|plug|uber|netflix|spotify|appointment|meeting|event|reminder|remainder|accent|voice|call|louder|brighter|complaint|transfer|transaction from|reservation)\b
    (?:transfer|send|wire|move|moving|put|switch|pay|shift|deposit|withdraw|complete)\b.{0,60}?(?:[$£€]\s?\d|\b\d+|\bdollars?|\bbucks|\bmoney|\bfunds|\$s).{0,60}\b(?:from|to|between|into|on|out)\b
    (?:erase|delete|remove|cancel|clear|empty|postpone|kill|make|reopen|append|re add|take|get rid of|drop|cross|scratch|check off|eliminate)\b.{0,50}\b(?:alarms?|events?|appointments?|meetings?|reminders?|lists?|calendar|schedule|reservations?|bookings?|to-?do|playlist|vacation|that|this|it|birthday|off|flight|trip|dinner|order)\b
    (?:create|open|file|raise|log|submit) an? (?:\w+ ){0,2}(?:ticket|case|incident|request|bug report)\b
    (?:remind|notify|alert|tell|let|inform)(?: (?:me|us|him|her|them|everyone|my \w+|mom|mum|dad|[a-z]+)) (?:to|that|know that|of|at|on|i'?m?\b)(?!f)
    (?:increase|decrease|raise|lower|reduce|adjust|boost|change|alter|modify|switch|swap|turn|set|make|use|color|maximi[sz]e|minimi[sz]e|dim)\b.{0,40}\b(?:volume|sound|lights?|lighting|lamps?|brightness|speakers?|speed|accent|voice|language|name|colou?rs?|music|settings?|temperature|thermostat|louder|quieter|english|spanish|french|german|chinese|japanese|italian|russian|faster|slower|audio|intensity|mode|alarm|timer|meeting|appointment|event)\b
    """
)
_AT_ASSISTANT = _any(
    r"""
    \byour (?:\w+ )?(?:name|voice|accent|language|speech|speed|volume|responses?|settings?|talking|rate of speech|tone)\b.{0,30}\b(?:to|in|be|is|into|slower|faster|different|made|down|up|it|from|please)\b|\b(?:change|rename|alter|make|switch|update|set|modify|adjust|speed up|slow down|use|turn)\b.{0,20}\b(?:your|you|the ai'?s?|device)\b.{0,12}\b(?:name|voice|accent|language|speech|speed|volume|settings?|rate|talking|talk|to \w+\W*$)
    \b(?:call|calling|name|naming|refer to|referring to|address|rename|nickname) (?:you|me|yourself)\b|^(?:my|your) (?:new )?name (?:will|should|shall)\b|^(?:my|your) (?:new )?name is\b(?=.{0,25}$)|\bwill be your name\b|^(?:i'm|i am) (?:called|named|leaving|home|going to (?:bed|sleep|call))\b|\bgo by\b|\bto be called\b
    \b(?:speak|talk|respond|answer|language|responses?|speaking|talking)\b.{0,25}\b(?:english|spanish|french|german|chinese|japanese|italian|russian|korean|arabic|slower|faster|slowly|quickly|quieter|louder|quicker)\b
    \b(?:rat(?:e|ed|es|ing)|giv(?:e|ing)|gave|award|deserves?|gets|should (?:get|have|be given))\b(?! me a random).{0,90}(?<!and )(?<!between )(?<!to )\b(?:zero|one|two|three|four|five|six|\d)\b ?(?:stars?\b|points?\b|out of|of 6|/ ?\d|rating\b|\.?$|and a best)|\b(?:\d|zero|one|two|three|four|five|six) (?:stars|points|out of 6|of 6)\W*$|\b(?:stars?|points?) (?:to|for|out of)\b
    \b(?:be|been|get|need|want|have|like) (?:\w+ )?(?:added|put|removed|deleted|cleared|changed|set|moved|raised|placed|included|turned|posted)\b.{0,40}\b(?:list|playlist|calendar|schedule|lights?|alarm|songs?|language|reminder)\b|\b(?:list|playlist|calendar|schedule|lights?|language|event|alarm|room|playlist.*)\b.{0,20}\b(?:be|needs?|should) (?:\w+ )?(?:added|put|removed|deleted|clear\w*|changed|set|moved|raised|another|include|an)\b|\bbe (?:called|reminded|texted)\b|^(?:for|in|on|to) (?:my|the) .{1,50}\b(?:add|put|include)\b|^(?:table|restaurant|seats?|reservations?|seating) (?:for|in|at)\b|\bwants? (?:to )?(?:go )?(?:eat|dine|to go to a)\b|\b(?:female|male|british|different|new) (?:\w+ )?(?:voice|accent)\b|^(?:terminate|scrap|destroy|kill|stop|abort)(?: the)?(?: current)?(?: process| task| action)?\W*$
    \b(?:rent(?:ing)?|book(?:ed|ing)?|reserv(?:e|ed|ing)|hir(?:e|ing))\b.{0,30}\b(?:car|jeep|suv|hotel|room|table|flight|rental|tickets?|taxi|uber|suite|reservation|people)s?\b(?! (?:without|after|by)\b)|\b(?:hotel|room|table|rental|flight|jeep)s?\b.{0,60}\b(?:from|for|on|between|at) (?:the )?(?:\d|january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|two|three|four|five)\b
    \b(?:sync\w*|pair|unpair|disconnect|connection)\b.{0,25}\b(?:my|the|this) (?:phone|device|mobile)\b|\bwhisper (?:mode|voice|sound)\b|\b(?:must|will|going to|have to|important that i|should) (?:be )?call(?:ing)? (?!it|a\b|the (?:function|method))\w+\W*$|\bon the phone\W*$|, (?:get|book|reserve|rent|find) (?:me|us)\b
    ^(?!(?:is|are|do|does|did|has|have|was|what|which|how|tell|show|read|check)\b).*\b(?:on|to|onto|off|from|of) my (?:\w+ ){0,3}(?:list|playlist|calendar|agenda|to-?do)\b
    \bneeds? to be (?:reminded|texted|called|woken|up)\b|\bi need to (?:be )?up by\b|\bwake me\b|\bremind (?:me|it|us)\b(?! (?:what|why|how|who|where|when|which|of (?:the|how|what)|again)\b)
    ^(?:(?:can|could|may|might|is it possible for) (?:i|we|me|us)(?: please| to)*|i(?:'m| am) (?:looking (?:for|to)|in need of|going to need)) (?:get |have |make |book |rent |reserve |hire |order |schedule |set up |rename |change |stop |skip |move |turn |play |hear |listen )(?:\S+ ){0,5}?(?:reservations?|table|hotel|room|flight|car|taxi|uber|cab|ride|rental|jeep|suv|song|track|music|lights?|name|volume|appointment|meeting|next|radio)\b
    ^(?:the |these |this |it(?:'s| is) |its )?(?:\w+ ){0,3}(?:too|very|so) (?:bright|dark|loud|quiet|low|dim|fast|slow)\b|^it(?:'s| is) dark\b
    \b(?:next song|next track|upcoming song|skip (?:it|this)|play the next)\b
    ^(?:don't|do not|no longer|no more|stop|never|i (?:don't|no longer|do not) (?:want|need) (?:to|you to))\b.{0,20}\b(?:sync|play|whisper\w*|talk|speak|remind|use|connect|hear|alarms?)\b
    ^(?:alarm|reminder|event|meeting|appointment|timer|meet|lunch|dinner) (?:for|at|on|to|in|with)\b|^(?:new|another) (?:\w+ )?(?:alarm|reminder|event|meeting|appointment|list|tweet|email|contact)\b|\b(?:lunch|dinner|meeting|appointment|event|reminder|alarm)s?\b(?! (?:room|software)).{0,30}\b(?:at|on|by) (?:\w+ ){0,2}(?:am|pm|noon|\d+|a\. m\.|p\. m\.|\w+day|o'clock)\b(?<!what)$|\bneeds? .{1,60}\b(?:on|in|to|added to|placed onto) (?:my|the|our|it|\w+'?s?) ?(?:\w+ ){0,5}?(?:list|playlist|calendar|schedule)\b|^(?:volume|lights?|music|speakers?|lamps?|sound|radio|quiet mode|colou?r)\b
    \b(?:and|then|please|,|so|can you|will you|could you|would you) (?:remind me|text|call|email|tell (?:him|her|them)|play|get me|(?:send|forward|share|post) (?:it|this|that|them)|(?:add|put|delete|remove) (?:it|this|that|my)|schedule|book|reserve|order|turn|set (?:a|an|the|my|up) (?:\w+ )?(?:alarm|reminder|timer))\b(?! by\b)(?=.{0,60}$)
    """
)
_HANDLED = _compile(
    r"<handling>(?: (?:up|down|in|out|off|on|back|away|over))? (?:(?:the|my|our|this|that|these|those|it|him|her|them|yes|no|all|home|\d+)\b(?! (?:difference|definition|meaning|sum|number|list of|answer|recipe|best|most|name|nutrition\w*|info\w*))|an? (?:\w+ )?(?:picture|photo|selfie|chat|call|stop|note|screenshot|video|message|ticket|bath|seat|walk)\b|(?:me|us) (?:to|in|up|home|on|out|off|from|at)\b(?! (?:on|speed|the steps))|(?:[a-z]+) (?:admin|access|rights|to my))"
)
_NOUN_PHRASE = re.compile(
    r"\w+ (?:of|buttons?|keys?|store|errors?|recommendations?|reviews?|alignment|value|number|history|date|does|is|are|was|keeps|not|theory|difference|culture|by)\b"
)
"""The verb is a noun here: «play of light», «cancel button»."""
_WANTED = _compile(
    r".{1,60}\b(?:on|in|to|onto|into) (?:my|the|our|\w+'s) (?:[\w'&-]+ ){0,5}?(?:lists?|playlists?|calendar|schedule)\b|(?:eat|dine|go|drink|find|get|need|want|bring|take)\b.{0,60}\b(?:restaurant|cafeteria|pub|bar|food|table|reservation|diner|party of|bistro|brasserie|tavern|eat|hotel)\b|eat (?:at|in|with|within)\b|(?:an?|two|three|\d+|reservations?|another|some|new|the|my|more|this|your) (?:\S+ ){0,5}?(?:<ordered>|<device>)\b|(?:reservations?|seats?) (?:for|at|in)\b"
)
_DEED = _compile(r"<deeds>\b")
_ON_DEVICE = _compile(r"(?:\S+ ){0,8}?<device>\b")
_AT_TIME = _compile(r"\b<time>\b")
_SERVICE = _compile(
    r"(?:cancel|close|change|update|alter|switch|make|add|remove|report|reset|order|transfer|withdraw|deposit|top|apply|delete|file|pay|get|set|refund|stop|end|terminate|enrol\w*|move|reactivate|activate|edit|modify|open|use|put|return|send|exchange|create|take|book|start|submit|upload|request|place|link)\b.{0,50}\b<account>\b"
)
_SERVICE_ORDER = _compile(
    r"(?:restart|reboot|merge|unsubscribe|upgrade|downgrade|subscribe|enrol+|register|cancel|refund|freeze|unfreeze|block|unblock|lock|unlock|deactivate|close|reactivate|activate|reset|renew|return|update|change|delete|remove|stop|terminate|pay|report|withdraw|deposit|transfer|track|submit|file|order|buy|purchase|approve|reject|deploy|archive|upload|publish|post|share|invite|assign|put in|request|apply|complain|hold|place) "
    r"(?:for )?(?:me |us |out |up |off )?(?:a (?:freeze|hold|block|stop|complaint)\b|my|our|the (?!difference|column|row|first|last|value|order|name|type|data|size|number|content)|me\b|us\b|this|that|all my|every|both|an? (?:new )?(?:order|refund|payment|bill|card|taxi|ticket|pizza|day|flight|bill|request|pto|vacation)|[$£€]\d|\d|time off|pto|vacation|days? off|some|food|him|her|them|mom|dad)"
)


_HEADING = _compile(
    r"(?:reset|restart|reboot|update|upgrade|downgrade|change|replace|remove|uninstall|install|restore|clean|fill|empty|open|close|activate|"
    r"deactivate|enable|disable|plug|unplug|connect|disconnect|lock|unlock|adjust|configure)(?: (?:up|in|out|off|on))? the "
    r"(?!(?:\w+ ){0,3}(?:<device>|<account>|<ordered>)\b)"
)
"""«Reset the meter», as help pages are headed; «cancel the order» and «open the garage door» are orders."""


_OF_OTHERS = re.compile(
    r"(?:do|does|did|is|are|was|were|has|have) (?!you\b|there an option|i have people)"
)
_TALK = re.compile(
    r"\b(?:your hobbies|real person|human|act as|your (?:identity|task|role|tasks?)|you are an?)\b"
)
"""Talk with the assistant about itself, or a part it is to play."""


def acting(at: Reading) -> str | None:
    """The words by which the request is an order to do something, or None.

    A wish about an account («I want to change my plan») is answered by a help page; an order
    («change my plan») is not.
    """
    if at.how_to or at.why:
        return None
    is_question = (
        VALUE_QUESTION.match(at.inner) is not None
        or _OF_OTHERS.match(at.core) is not None
        or _TALK.search(at.core) is not None
    )
    is_sql = _SQL.search(at.text) is not None
    found = None if is_question or is_sql else _AT_ASSISTANT.search(at.core)
    if found:
        return found.group() or at.core
    if _ASKS_ABOUT.match(at.core):
        return None
    if at.wished and _SERVICE.match(at.core) and not _CERTAIN.search(at.core):
        return None
    if _NOUN_PHRASE.match(at.core) or (not at.asked and _HEADING.match(at.core)):
        return None
    found = (
        _NO_CODE.match(at.core)
        or _SERVICE_ORDER.match(at.core)
        or (None if at.asked else _HANDLED.match(at.core))
        or _deed(at)
    )
    if (
        found is None
        or (is_sql and not at.wished)
        or (not at.wished and not _ERRAND.match(at.core) and _is_code(at))
    ):
        return None
    return found.group()


def _deed(at: Reading) -> "re.Match[str] | None":
    deed = _DEED.match(at.core)
    if deed:
        rest = at.core[deed.end() :].lstrip()
        if _ON_DEVICE.match(rest) or _AT_TIME.search(rest):
            return deed
    if at.wished and (not at.asked or at.core.startswith(("find", "get", "need", "want"))):
        return _WANTED.match(at.core)
    return None


def _is_code(at: Reading) -> bool:
    if _CODE.search(at.core, 0, 90) is None and _SQL.search(at.text) is None:
        return False
    return _HOME.search(at.core) is None


# ---------------------------------------------------------------- volatile

_TOPICS = _any(
    r"""
    \bweather\b(?! (?:balloon|vane|station|pattern|underground)s?\b)|\bforecasts?\b(?! (?:model|method)\w*)|\b(?:need|wear|bring|take|pack|carry)\b.{0,20}\b(?:umbrella|sunscreen|raincoat|jackets?|coats?|sunglasses|boots|sweater|gloves|warm socks)\b
    \b(?:is it|it'?s|it'll|will|be|does|going to|gonna|are there|is there|any|chance|expect\w*|does it|could it|should|going|it|how|much|lot of|today|tomorrow|when)\b.{0,30}\b(?:humid\w*|rain(?:ing|y|s|ed out)?|snow(?:ing|y|s|fall)?|winds?|sun|snow ?storms?|sunny|sun (?:on|today|tomorrow)|cloud(?:y| coverage|s)|windy|fog(?:gy)?|chill(?:y|ier)|freez(?:e|ing)|storm(?:y|s|ing)?|thunder\w*|hail\w*|blizzards?|drizzle|overcast|cold(?:er)?|hot(?:ter)?|warm(?:er)?|cool(?:er)?|temperate|sunrise|sunset|humidity|rainfall)\b(?=.{0,60}\b(?:in|at|on|nearby|not|faraway|\d|for|near|around|outside|out|there|here|today|tomorrow|tonight|now|coming|over|overnight|week\w*|\w*day|\d+|later|to|close|be)\b|.{0,3}$)(?! (?:dogs?|sauce|water|war|chocolate)\b)
    \b(?:how|is it|will it|be|get|gets|so|too|very) (?:cold|hot|warm|wet|cool|dry|nice|humid)\b.{0,30}\b(?:in|at|out|outside|there|here|be|for)\b|\btemperatures?\b.{0,20}\b(?:outside|will|tomorrow|today|tonight|right now|(?:in|at|for) (?:[a-z]+ ?){1,4})\W*$(?<!engine)|^(?:what(?:'s| is)? |tell me )?(?:the )?temp(?:erature)?(?: is it)?\W*$|\b(?:what|tell|how)\b.{0,15}\b(?:temperature|humidity|weath\w*)\b(?=.{0,10}\b(?:for|in|be|like)\b)|\bfeel like in\b|\bumbrella\b|\bwhat temperature is it\b|\b(?:degrees|climate) (?:outside|in|at|on|for|like)\b
    \b(?:stocks?|shares?|bitcoin|btc|gold|silver|crude oil|gas|gasoline|petrol|crypto\w*|ethereum|nasdaq|dow jones|dow|s&p|ftse|share market|stock market)(?:'s)? (?:prices?|values?|rates?|quotes?|markets?|worth|trading|doing|up|down|at|index|performance)\b|\b(?:bitcoin|btc|ethereum|nasdaq|dow jones|ftse|stocks|shares) (?:of|for|is|in|up|down)\b|\b(?:price|value|worth|quote|rate)s? (?:of|for|on) (?:\w+ ){0,3}(?:stocks?|shares?|bitcoin|gold|silver|oil|gas|crypto\w*)\b|\bstock (?:\w+ )?(?:price|market|value)\w*\b|\b(?:how (?:is|are|was|did|much is)|what(?:'s| is| are)|check|show|tell|give)\b.{0,30}\b(?:stocks?|shares|dow jones|nasdaq)\b(?! (?:photo|market work|split|option)\w*)
    \b(?:exchange|conversion|currency|interchange|dollar|euro|rupees?) rates?\b(?=.{0,40}\b(?:between|from|to|of|in|for|right|currently|and|dollars?|euros?|yen|rupees?|pounds?|usd|eur)\b|\W*$)(?! (?:applied|calculated|work))|\b(?:dollars?|euros?|rupees?|us|one|five|pounds?)\b.{0,30}\brates?\b|\b(?:exchange|stock|currency) (?:rate|convert\w+|price)s?\W*$|^(?:\w+ ){0,2}currency exchange\W*$|\brates? (?:between|of) .{0,20}\b(?:u\. ?s|usd|euros?|dollars?|inr|currency)|^(?:stocks?|currency exchange)\W*$
    \b(?:dollars?|euros?|yen|rupees?|pounds? sterling|pounds?|pesos?|yuan|rubles?|francs?|won|usd|eur|gbp|inr|jpy|cad|aud|currency|rupies|usd?|u\. s\. d\.|g\. b\. p\.)\b.{0,25}\b(?:to|in|into|equals?|can i get|rate|increased?|decreased?|rupees|are|against|versus|vs|is|worth|equals?|convert\w*|for|and|doing|value)\b.{0,20}\b(?:dollars?|euros?|yen|rupees?|pounds?|pesos?|yuan|rubles?|francs?|usd|eur|gbp|inr|jpy|cad|aud|canadian|american|us|u\. s\.|currency|today|now)\b
    \b(?:news|headlines?|breaking news|current events|top stories|newsfeed)\b(?! ?(?:letter|paper|reader|agency|feed format))|\b(?:what(?:'s| is| has)?|anything|something|stuff|things) (?:\w+ )?(?:happening|going on|trending|new)\b(?! (?:when|if|to|with my|after|while)\b)(?=.{0,40}$)|\bwhat happened (?:today|yesterday|in the (?:world|news))\b|\btrending\b|\bhas anything happened\b|\b(?:open|go to|show)? ?(?:c\. ?n\. ?n|cnn|b\. ?b\. ?c|bbc)\b|\bupdate me on\b|\barticles about\b|\belection results\b|\b(?:sports?|game) (?:scores?|results?)\b|\bany updates? (?:on|in regard|about)\b
    \b(?:the )?(?:stock )?markets? (?:doing|up|down|open|close[ds]?|today)\b|\bjam(?:med|s)?\b(?! (?:recipe|session|making)s?\b)(?<=jammed)
    \btraffic\b(?! (?:light|sign|law|control|source|ticket|signal)s\b)|\b(?:road (?:conditions?|closures?|clear)|roadworks?|congest\w+ on)\b|\bfastest (?:route|way) to\b|\bhow long (?:to get|will it take to get|is my commute)\b.{0,20}\b(?:work|home|town)\b
    \b(?:how (?:busy|crowded|packed|full|slammed)|busy|busiest|crowded|crowds?|packed|wait times?|(?:the|a|long|any) (?:wait|line)|be seated|get seated|get a (?:seat|table)|stand in line|wait(?:ing)? (?:at|in line|for a table)|full (?:at|after|around))\b(?=.{0,70}(?:\b(?:at|on|near|in|restaurant|right|now|store|\d+|tonight|place|'s|for|is|have|be|without|around|to)\b|$))(?<!the line)(?! (?:of code|number|break|integral)\b)
    \bwhat (?:time|day|date)\W*$|\bwhat(?:'s|s| is| will be) (?:the |today's |current )?(?:exact |current |local |right )?(?:times?|day|date|month|year)\b(?! (?:complexity|zone|limit|frame|period|format|type|function|column|field|\w+ in sql|range|taken|did|was|were|of (?:birth|death))\b).{0,25}$|\bwhat (?:time|day|date|year|month) (?:is|it|today|are we|we)\b(?! (?:the (?:war|battle|revolution)|\w+ (?:born|founded|built|invented))\b)|\b(?:the|current|correct|local|exact|today's|tomorrow's) (?:time|date|day)\b.{0,5}(?:please|now|in .{1,25}|is it|of today|today|right now)?\W*$|\b(?:time|date) (?:now|right now|today|is it)\b|\btime (?:it is |is it )?in [a-z .,]{2,25}$
    \b(?:how (?:many|much) (?:more )?(?:days?|weeks?|months?|hours?|minutes|time|long)|in how many \w+|to what extent)\b.{0,30}\b(?:until|till|til|left until|away|midnight)\b|\b(?:is it|is it already|are we) (?:\w+ )?(?:o'? ?clock|noon|midnight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|ten|eleven|morning)\b|\bday of the week\b|\bo'? ?clock yet\b|\bthe time (?:it is|is what)\b|^(?:the |clock |current )?time\W*$|\bwhen is (?:easter|halloween|christmas|thanksgiving|ramadan|new year\w*|labor day|mother's day|father's day|memorial day|diwali|eid|hanukkah)\b|\b(?:day|monday|friday)s? off\b(?!.{0,20}\brequest)|\b(?:holidays?|three day weekend|stay home from work|away from work)\b(?=.{0,30}\b(?:next|coming|upcoming|have|off|when|month|year|is|do we)\b)|\b(?:which|what|any|next|have|has) (?:\w+ )?holidays?\b|\bhow (?:long|soon|far|many \w+) (?:is it |till |until |before |ago|away)\b(?=.{0,40}\b(?:until|till|til|ago|christmas|holiday|away)\b)|\b(?:next|upcoming|nearest|closest|following|coming) (?:\w+ ){0,2}(?:holiday|vacation|day off|eclipse|full moon|election|game|match|episode|concert|event|show|festival|train|bus|flight|tram|subway|metro|departure|connection|s-?bahn|u\d)s?\b|\bholidays? (?:is |are )?(?:coming up|next|upcoming|this)\b|\bwhat day (?:is|does|will|are)\b.{0,40}\b(?:fall|on|this|next|holiday|\d+(?:st|nd|rd|th)?)\b
    \b(?:movie|film|show|screening|cinema|theat(?:er|re)|animated|picture)s? ?(?:times?|schedules?|playing|showing|listings?|nearest|nearby|in (?:the )?(?:area|neighbou?rhood|vicinity)|at|around|near|close|closest|start\w*)\b|\bshow ?times?\b|\b(?:playing|showing|shown|screening|starting|start|begin\w*|see|watch)\b.{0,50}\b(?:movie (?:theat\w+|house|chain)|cinemas?|theat(?:er|re)s?|multiplex|in \d+|at \d+|hours?|minutes|nearest|closest|nearby|o'?clock|\d+ ?[ap]\.?m)\b|\b(?:movies|films)\b.{0,40}\b(?:playing|showing|in the|nearest|closest|close|near|around|at|nearby|neighbou?rhood|start\w*|on)\b|\b(?:find|what|when|where|which|is|show|get|give|list|schedule)\b.{0,60}\b(?:cinemas?|movie (?:theat\w+|house|schedule|chain|times)|theat(?:er|re)s)\b|\b(?:what time|when) (?:is|will|does|are)\b.{0,60}\b(?:playing|showing|on|air\w*|start\w*|shown?|screen\w*)\b(?! to\b)
    (?<!final )\b(?:scores?|standings?) (?:of|for|in) (?:the |last )?(?:\w+ ){0,2}(?:game|match|league)\b|\bwho(?:'s| is) (?:winning|leading|ahead)\b|\bwho won (?:the game|last night)\b|\b(?:live|real[- ]?time) (?:scores?|prices?|results?|status|traffic|data|quotes?)\b
    \b(?:concerts?|festivals?|events?|shows?|parties|party|fair|exhibition|activities|things to do|something to do|performances?|gigs?|plays)\b.{0,40}\b(?:near|nearby|around|in (?:the |my |our |this )?(?:area|town|city|neighbou?rhood|new|san|los|london|\w+\W*$)|happening|going on|local|weekend|close|here)\b
    \b(?:when|what time)\b.{0,25}\b(?:train|bus|flight|tram|subway|metro|plane|s-?bahn|u\d)s?\b.{0,40}\b(?:leav\w+|arriv\w+|depart\w+|from|to|com\w+|go\w*|next)\b|\b(?:departures?|departing|leaves?|leaving)\b.{0,30}\b(?:train|bus|next|from)\b|\b(?:next|first|last) (?:train|bus|connection|u\d|s\d)\b
    """
)
_NOW = _compile(
    r"\b(?:today|tonight|tomorrow|yesterday|tonite|tmrw)(?:'s|s)?\b"
    r"|\b(?:this|last|next|past|coming|upcoming) (?:\w+ )?(?:morning|afternoon|evening|night|week|weekend|month|quarter|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday|hours?|days|few days)(?:'s)?\b"
    r"|\b(?:so far|year to date|in the last|in the past|over the last|within the last|in the next|over the next|for the next) (?:\w+ )?(?:hours?|days?|weeks?|months?|years?|this)\b"
    r"|\b(?:latest|newest|most recent|up[- ]to[- ]date)\b(?! (?:date|row|record|value|entry|entries|timestamp|version of (?:the )?(?:docs?|file|row|record)|commit|distinct|non|order|record per|per|before|after|by|n|in (?:a|each|the) (?:group|table|column)))"
    r"|\bcurrent(?:ly)? (?:\w+ ){0,2}(?:price|cost|temperature|news|scores?|standings?|stock|value of|status|events?|population|president|prime minister|ceo|champion|leader|exchange|inflation|unemployment|interest rate|mortgage)\w*"
    r"|\b(?:open|closed|playing|showing|happening|is it|like|out|on) (?:right )?now\b"
    r"|\bhow long ago\b"
)
_WEAK_NOW = _compile(
    r"\b(?:right now|at the moment|at present|as of now|these days|nowadays|currently|presently|at this time|now\W*$)"
)
_TIMELESS = _compile(
    r"\b(?:from now on|now that|until now|by now|buy now|today's world|what now)|\b(?:usa|psychology|history|toys?) (?:today|tomorrow)\b|[`\"'“][^`\"'”]{0,40}\b(?:today|tomorrow|yesterday|tonight|now|latest|current)\b[^`\"'”]{0,40}[`\"'”]"
    r"|\b(?:today|now|yesterday|tomorrow)(?:\(|\.\w|_)|\w_(?:today|now|latest|current)\b|\bif (?:it|it's|it is|i was|i am)\b.{0,60}\btime\b|\b(?:mean|meaning|synonym|definition|translate|translation|spell|say|spelled|spelling|word|phrase|lyrics|define)\b"
)
"""Time words that bind nothing to a moment: parts of names, code, and words that are talked about."""
_SQL = _compile(
    r"\b(?:sql|mysql|postgres\w*|oracle|sqlite|query|queries|select|datetime|date_?add|getdate|timestamp|column|rows?|records?|python|pandas|javascript|excel|regex|php|function|def|import|return)\b"
)
_OWN_STORY = re.compile(
    r"\b(?:i|we|i've|i'm|my|someone|it)\b(?: \S+){0,6}? (?:\w+ed|was|were|had|got|made|went|took|sent|did|bought|paid|lost|found|tried|have|has|been|saw|put|broke|left|forgot|gave|isn't|doesn't|hasn't|haven't|didn't|can't|cannot|am|is|not|need|want|see|keeps?|think|just)\b"
)
_MISHAP = re.compile(
    r"\b(?:why|what (?:should|can|do|happens?|happened)|disappear\w*|vanish\w*|gone|waiting|declin\w+|stolen|lost|charged?|fees?|fail\w*|wrong|still|hasn't|haven't|didn't|doesn't|isn't|not|never|pending|missing|problem|issue|help|error|refund\w*|transfer\w*|top\w*|withdr\w+|deposit\w*|cheque|account|payment|card|cash|atm|twice|rate)\b"
)


_SERVICE_WORDS = re.compile(
    r"\b(?:(fees?|charge[sd]?|transfers?|replacement|credit card|debit card|deposit\w*|refund\w*|cheque|top[- ]?up)|cards?|accounts?|payments?|bank|app|currenc\w+|cash|atm|withdraw\w*)\b"
)
"""Matters of an account. The first group is never about the moment."""
_SMALL_TALK = _compile(
    r"\b(?:thanks?|thank you|bye|goodbye|see you|ttyl|talk to you|how are you|you doing|old (?:are|will) you|your age|tata)\b|^(?:hi|hello|hey|what's (?:new|up|happening))\W*$"
)


_TOPIC_STEMS = frozenset(
    "mark jamm weat fore umbr suns rain jack coat boot swea glov warm humi snow wind sun clou fog fogg chil free stor thun hail bliz driz over cold "
    "hot cool wet dry nice temp degr clim stoc shar bitc btc gold silv crud gas gaso petr cryp ethe nasd dow ftse exch conv curr inte "
    "doll euro yen rupe poun peso yuan rubl fran won usd us u g eur gbp inr jpy cad aud rate news head brea happ goin tren elec spor game scor stan "
    "upda c cnn b bbc arti traf road cong fast comm busy busi crow pack full slam wait line seat time day date mont year hour minu "
    "long week noon midn ocl o mond tues wedn thur frid satu sund ten elev morn holi chri east hall than rama mothe labo moth fath memo diwa eid hanu "
    "hott sunn sunr next upco near clos foll comi movi film show scre cine thea anim pict play star begi see watc mult air winn win lead live real "
    "conc fest even part fair exhi acti thin some perf gig gigs trai bus flig tram subw metr plan depa leav firs last top curr".split()
)


_PAST = re.compile(r"(?:when|where|who|what|which \w+|how)? ?(?:was|were|did)\b")


def volatile(at: Reading) -> str | None:
    """The words by which the answer passes with time, or None."""
    found = _TOPICS.search(at.text) if not at.stems.isdisjoint(_TOPIC_STEMS) else None
    is_topic = found is not None and not at.why and not at.how_to and _PAST.match(at.inner) is None
    if not is_topic:
        found = _NOW.search(at.text) or (None if at.how_to or at.why else _WEAK_NOW.search(at.text))
    if found is None or _binds_nothing(at, is_topic=is_topic):
        return None
    return found.group()


_NAMED = re.compile(
    r"\b[A-Z][\w']+ (?:Today|Tonight|Tomorrow|Yesterday|Now)\b|(?<!^)\b(?:Today|Tonight|Tomorrow|Yesterday) [A-Z][a-z]+"
)
"""A word of time as part of a title: capital letters in the midst of a sentence."""


def _binds_nothing(at: Reading, *, is_topic: bool) -> bool:
    """True where the words of time stand in code, small talk or the tale of a mishap, not in what is asked."""
    if (
        _NAMED.search(at.original)
        or _TIMELESS.search(at.text)
        or _SQL.search(at.text)
        or _SMALL_TALK.search(at.text)
    ):
        return True
    is_mishap = _MISHAP.search(at.text) is not None
    if is_mishap and _OWN_STORY.search(at.text):
        return True
    if is_topic:
        service = _SERVICE_WORDS.search(at.text)
        return service is not None and (
            service.group(1) is not None or _MAY_I.search(at.text) is not None
        )
    return at.why and " my " in at.text


# ---------------------------------------------------------------- creative

_CREATIVE = _any(
    r"""
    \b(?:write|compose|create|make(?: up)?|invent|draft|generate|come up with|give|tell|sing|recite|craft|think of|suggest|read|got|know|have|share|hear|want|need|like|say|crack|find|show|provide|do)\b(?: (?!how\b|why\b)[\w'-]+){0,6}? (?:poems?|haikus?|limericks?|lyrics|jokes?|raps?|sonnets?|riddles?|puns?|fairy ?tales?|bedtime stor\w+|slogans?|taglines?|pick-?up lines?|screenplays?|short stor(?:y|ies))\b
    \b(?:write|compose|create|make up|invent|draft|generate|come up with|give me|tell me|tell us|craft|think of|sing)\b(?: (?!how\b|why\b|user\b)[\w'-]+){0,5}? (?:stor(?:y|ies)|songs?|captions?|plots?|characters? (?:for|named|who)|dialogues?|essays?|speech|blog posts?|love letters?)\b(?! (?:in a string|from|of a string)\b)
    \b(?:surprise me|(?:a|any|some|me) random (?!forest|access|sample|seed|walk|variable|string|row|number generator|state|matrix|array|integer)\w+|random (?:fact|name|quote|color|colour|joke|pick|choice)s? ?(?:please|for me)?\W*$|(?:randomly )?(?:pick|choose) (?:a|any|some) (?:random )?(?:number|card|one|color|colour|name)|roll (?:a|the|some|two|\w+|\d+) ?(?:sided )?(?:dice|die|dies)|(?:flip|toss) (?:a|the|me a|this) coin|coin (?:flip|toss)|heads or tails|be creative|something (?:funny|original|humorous|hilarious|amusing)|another (?:joke|story|idea|poem)|(?:make|have|get|want to|need to|give) (?:me |us )?(?:a )?(?:laugh|giggle|smile|chuckle)|cheer me up|amuse me|entertain me|say something|tell me something|knock knock|brainstorm)\b
    (?<!what is a )\b(?:jokes?|funn(?:y|iest)|humor|comedy|puns?)\b(?: \S+){0,6}$(?<!movie)(?<!movies)
    \b(?:give|suggest|brainstorm|come up with|some|think of|need|any)\b(?: me)?(?: [\w-]+){0,3} (?:ideas?|names?|titles?|suggestions?|slogans?) (?:for|about|of) (?:a|an|my|our|the)\b
    """
)


def creative(at: Reading) -> str | None:
    """The words by which a fresh invention is wanted, or None."""
    if at.how_to or at.why or _SQL.search(at.text):
        return None
    found = _CREATIVE.search(at.text)
    return found.group() if found else None
