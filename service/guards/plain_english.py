"""Decides the plain form of English: contractions, set phrases and numerals written one way, polite frames dropped.

Rules are applied one after the other. Each says of which words its text must hold one: looking for those costs a tenth
of looking for the rule, and few texts have more than two or three of them.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from service.guards.lexicon.english_phrases import ASKS_HOW, PHRASES, POLITE
from service.guards.quantity import NUMBER_WORDS, english_number
from service.guards.text import spell_out

_POLITE = re.compile(
    r"(?<![\w'])(?:" + "|".join(line for line in POLITE.strip().splitlines()) + r")(?![\w'])",
    re.I,
)
_ASKS_HOW = re.compile(
    r"(?<![\w'])(?:" + "|".join(ASKS_HOW.strip().splitlines()) + r")(?![\w'])(?: how to(?![\w']))?",
    re.I,
)
_REASON = re.compile(
    r"\bwhat(?:'s| is| are| could be| can be| might be| may be| would be| is likely)(?: the)?(?: most likely)? (?:reasons?|causes?)(?: (?:for|of|behind|why))?\b"
    r"|\bwhat (?:is|could be|might be|would be|can be) causing\b|\bwhat (?:causes|caused|could cause|would cause|makes|made)\b|\bfor what reasons?\b",
    re.I,
)
_WANTED_NO_MORE = re.compile(
    r"\b(?P<who>i|we) (?:do not|no longer|not) (?P<verb>want|need|use|like)\b"
    r"(?=[^.?!]*[.,;!]\s*(?:so |and |but |please )?(?:how|where|can|could|what|which)\b)",
    re.I,
)
"""I no longer need it, how do I …: why it is asked, and not what."""
_ANYONE = re.compile(
    r"\bhow (?:do|does|can|could|would|should) (?:one|someone|somebody|a user|users|people)\b", re.I
)
_THEIRS = re.compile(r"\b(?:their|one's|his or her)\b", re.I)
"""Where anybody is asked about, theirs is what the asker would call mine."""
_SEPARABLE = re.compile(
    r"\b(turn|switch|shut|power|toggle)(?:s|ed|ing)?(?!\s+(?:on|off)\b)((?:\s+[\w'-]+){1,4}?)\s+(on|off)\b",
    re.I,
)
_SEPARABLE_AT_END = re.compile(
    r"\b(turn|switch|shut|power|toggle)(?:s|ed|ing)?((?:\s+(?!on\b|off\b)[\w'-]+)(?:\s+[\w'-]+){1,7}?)\s+(on|off)(?=\s*(?:[.?!,;]|$))",
    re.I,
)
_PART_OF_DAY = re.compile(
    r"\b(?P<hour>\d{1,2}(?::\d\d)?)(?: ?o'clock)? (?:in the (?P<part>morning|afternoon|evening)|at night)\b",
    re.I,
)
_PART_OF_THAT_DAY = re.compile(
    r"\b(?P<hour>\d{1,2}(?::\d\d)?)(?: ?o'clock)? (?P<day>today|tomorrow|this) (?P<part>morning|afternoon|evening)\b",
    re.I,
)
_WAY = re.compile(
    r"\bis there (?:a|any) way (?:for me )?to\b"
    r"|\bwhat(?:'s| is| are| would be) the (?:best|easiest|simplest|right|proper|correct) (?:way|method|approach)(?: for me)? to\b",
    re.I,
)
_QUARTER = re.compile(
    r"\bQ(?P<number>[1-4])\b|\b(?P<ordinal>first|second|third|fourth) quarter\b", re.I
)
_HALF_PAST = re.compile(
    r"\b(?:a )?(?P<part>half past|quarter past|quarter to) (?P<hour>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.I,
)


_STAGE = re.compile(
    r"\b(?P<stage>test|live) (?=(?:environment|env|server|cluster|system|instance|site|database|db|stack)s?\b)",
    re.I,
)
_STAGES = {"test": "testing", "live": "production"}
"""The environment that a server belongs to, in its other name."""
_SEATS_LEFT = re.compile(
    r"\b(?P<asked>(?:is|are) there (?:still )?(?:any|some)?(?: [\w-]+){1,3}?|do you (?:still )?have(?: any)?(?: [\w-]+){1,3}?|(?:any|many|much|no)(?: [\w-]+){1,3}? (?:is|are)(?: still)?) left\b",
    re.I,
)
"""Are there any seats left: are any available."""
_A_PERIOD = re.compile(
    r"\b(?P<before>times|howoften|it|cost|pay|charge|charged|much|many|\d|dollars|euros|pounds|[a-z]{3,}s)\s+a (?P<period>hour|day|week|month|year)\b",
    re.I,
)
"""Visits a month: visits per month."""
_NO_COUNT = frozenset(
    "is was has does takes lasts this its us as needs wants gets costs".split()
) - {"costs"}
_UNITED = re.compile(
    rf"\b(?P<number>(?:{'|'.join(sorted(NUMBER_WORDS))}|half)(?:-(?:{'|'.join(sorted(NUMBER_WORDS))}))*)-(?=(?:second|minute|hour|day|week|month|year|metre|meter|mile|litre|liter|gram|kilo|pound|inch|yard|ounce|pint|gallon|watt|volt|kilometre|kilometer|centimetre|centimeter)s?\b|feet\b|foot\b)",
    re.I,
)
"""A two-hour film: of two hours."""
_FEET = re.compile(
    rf"\b(?P<number>\d+|{'|'.join(sorted(NUMBER_WORDS))})[ -]foot\b(?! bridge| path| print)", re.I
)
"""A six foot ladder: feet, and not the one that is walked on."""
_DOTTED = re.compile(r"(?<![A-Za-z.])(?:[A-Z]\.){2,}(?![A-Za-z])")
"""L.A. is LA."""
_DECADE = re.compile(r"\b(?P<the>the|early|late|mid) ?-?'?(?P<decade>[2-9]0)s\b", re.I)
_POWERS = re.compile(r"\b(?P<base>\d+(?:\.\d+)?|[a-z]) (?P<power>squared|cubed)\b", re.I)
_OR_MORE = re.compile(
    rf"\b(?P<number>\d+|{'|'.join(sorted(NUMBER_WORDS))}) (?:or|and) (?P<bound>more|over|above|up|older|fewer|less|under|below|younger)\b",
    re.I,
)
_UPWARD = frozenset("more over above up older".split())
_AGED = re.compile(
    rf"\b(?P<bound>younger|older) than (?=\d|(?:{'|'.join(sorted(NUMBER_WORDS))})\b)", re.I
)
_HOW_MANY_DAYS = re.compile(
    r"\bhow many (?:business |working )?(?:minutes|hours|days|weeks|months|years) (?=(?:does|do|will|would|did|should|must|can)\b.*\b(?:take|last|need|wait|stay|keep)\b)",
    re.I,
)
_ENSURES_NOT = re.compile(
    r"\b(?:make|making) sure(?: that)? (?P<who>(?:[\w']+ ){1,4}?)(?:do not|does not|never|is not|are not|will not|can not) (?:ever )?",
    re.I,
)
"""Make sure that it does not happen: prevent it."""
_SLASH_PER = re.compile(
    r"(?<=[A-Za-z\d])\s?/\s?(?=(?:sec|second|min|minute|hr|hour|day|week|wk|month|year|yr|person|night|user|head)\b)",
    re.I,
)
"""Requests/min: per minute."""
_YEAR = re.compile(r"\bthe year (?=\d{3,4}\b)", re.I)
_TIME_LEFT = re.compile(r"\bhow much time (?:is|do (?:i|we) have|is there)(?: still)? left\b", re.I)
_MS = re.compile(r"\bMS (?=[A-Z][a-z]|365)")
_MAKER = re.compile(
    r"\b(?:microsoft (?=(?:word|excel|powerpoint|teams|outlook|onenote|sharepoint|azure|windows|edge|office|bing)\b)"
    r"|google (?=(?:chrome|docs|sheets|slides|gmail|android|chromecast|pixel)\b)|apple (?=(?:iphone|ipad|ipod|macbook|imac|airpods|safari|icloud|itunes)\b)"
    r"|adobe (?=(?:photoshop|illustrator|acrobat|premiere|lightroom|indesign)\b)|amazon (?=(?:aws|alexa|kindle|s3|ec2)\b)|samsung (?=galaxy\b)|sony (?=playstation\b)"
    r"|apache (?=(?:kafka|spark|airflow|hadoop|cassandra|tomcat)\b)|atlassian (?=(?:jira|confluence|trello|bitbucket)\b)|nintendo (?=switch\b)|meta (?=(?:whatsapp|instagram)\b))",
    re.I,
)
"""A product is known without its maker."""
_KEEPS_OFF = re.compile(r"\bkeep(?P<who>(?: [\w'-]+){1,4}?) (?:off|out of|away from|from)\b", re.I)
"""Keep the cat off: stop it from."""
_COSTS = re.compile(
    r"\b(?:costs?|charges?|charging) (?P<less>(?:the )?least|less|(?:the )?most|more)(?= than\b|\s*[?.!,]|$)|\b(?P<weighs>weighs?) (?P<weight>less|more|(?:the )?least|(?:the )?most)(?= than\b|\s*[?.!,]|$)"
    r"|\b(?:has|have|with|offers?|charges?) the (?P<level>lowest|highest) (?:prices?|costs?|rates?|fees?|fares?)(?=\s*[?.!]|$)",
    re.I,
)
_WEIGHED = {"less": "lighter", "more": "heavier", "least": "the lightest", "most": "the heaviest"}
_COMPARED = {"less": "is cheaper", "more": "is more expensive", "least": "is the cheapest", "most": "is the most expensive",
             "lowest": "is the cheapest", "highest": "is the most expensive"}  # fmt: skip
_FRAMEWORK_SUFFIX = re.compile(
    r"(?<![A-Za-z])(node|vue|react|next|nuxt|express|angular|ember|backbone|three|d3|chart|moment|nest|alpine|svelte)\.?js\b",
    re.I | re.A,  # a Chinese character behind it is no letter of the name
)
"""Node.js and NodeJS are Node; `index.js` stays a file."""
_GO = re.compile(r"\b(?:[Ii]n|[Uu]sing|[Ww]ith) Go\b")
"""The language, by its capital."""
_SHORT_WINDOWS = re.compile(r"(?<![A-Za-z])win ?(?=(?:7|8|10|11)(?![\dA-Za-z]))", re.I)
_GLUED_VERSION = re.compile(
    r"(?<![A-Za-z])([a-z]{3,})(?=\d+\.\d)"
    r"|(?<![A-Za-z])(python|php|vue|java|node|go|flutter|swift|kotlin|postgres|redis|tomcat|jdk|mysql|django|angular|react|ubuntu|debian|android|ios|ipados|macos|iphone|ipad|windows|win|chrome|office|excel)(?=\d{1,4}(?![\dA-Za-z]))",
    re.I,
)
"""A version written onto its name (python3.9, ios17)."""


class Rule(NamedTuple):
    """A rewriting, and words (in small letters) without any of which it changes nothing; none: it always may."""

    rewrite: Callable[[str], str]
    needs: tuple[str, ...] = ()


def plain_english(flat: str) -> str:
    """A normalised text with every rule applied."""
    low = flat.lower()
    for rule in rules():
        if rule.needs and not any(word in low for word in rule.needs):
            continue
        changed = rule.rewrite(flat)
        if changed != flat:
            flat, low = changed, changed.lower()
    return flat


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in their order."""

    def put(
        pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str], *needs: str
    ) -> Rule:
        return Rule(partial(pattern.sub, new), needs)

    return (
        put(_FRAMEWORK_SUFFIX, r"\1", "js"),
        put(_GLUED_VERSION, r"\g<0> ", *"0123456789"),
        put(_GO, "in golang", "go"),
        put(_SHORT_WINDOWS, "Windows ", "win"),
        put(_TIME_LEFT, "how long", "how much time"),
        put(_YEAR, "", "the year"),
        put(_MS, "Microsoft ", "ms "),
        put(_MAKER, "", *_MAKERS),
        put(_DOTTED, lambda match: match.group().replace(".", ""), "."),
        put(_KEEPS_OFF, r"stop\g<who> from", "keep"),
        put(_HOW_MANY_DAYS, "how long ", "how many"),
        put(_SLASH_PER, " per ", "/"),
        put(_DECADE, r"\g<the> 19\g<decade>s", "0s"),
        put(_POWERS, _to_the_power, "squared", "cubed"),
        put(_OR_MORE, _bounded, " or ", " and "),
        put(_AGED, _by_age, "younger", "older"),
        put(_WAY, "how to", "way", "method", "approach"),
        Rule(spell_out),
        put(_POLITE, " "),
        put(_ENSURES_NOT, r"prevent \g<who>", " sure"),
        put(_REASON, "why", "what", "reason"),
        put(_WANTED_NO_MORE, r"\g<who> \g<verb>", "not", "no longer"),
        Rule(_mine_for_theirs, ("their", "one's", "his or her")),
        put(_ASKS_HOW, "how to"),
        put(_SEPARABLE_AT_END, r"\1 \3\2", *_SWITCHED),
        put(_SEPARABLE, r"\1 \3\2", *_SWITCHED),
        put(_phrases(), lambda match: f" {_phrase_table()[match.group().lower()]} "),
        put(_HALF_PAST, _past, "past", "quarter to"),
        put(_PART_OF_THAT_DAY, _half_of_that_day, *_PARTS_OF_DAY),
        put(_PART_OF_DAY, _half_of_day, *_PARTS_OF_DAY, "night"),
        put(_STAGE, lambda match: f"{_STAGES[match['stage'].lower()]} ", *_STAGES),
        put(_SEATS_LEFT, r"\g<asked> available", "left"),
        put(_A_PERIOD, _per, "a hour", "a day", "a week", "a month", "a year"),
        put(_FEET, r"\g<number> feet", "foot"),
        put(_UNITED, r"\g<number> ", "-"),
        put(_COSTS, _compared, *_COSTLY),
        put(_QUARTER, _quarter, "q1", "q2", "q3", "q4", "quarter"),
    )


_MAKERS = tuple(
    "microsoft google apple adobe amazon samsung sony apache atlassian nintendo meta".split()
)
_SWITCHED = ("turn", "switch", "shut", "power", "toggle")
_PARTS_OF_DAY = ("morning", "afternoon", "evening")
_COSTLY = ("cost", "charge", "charging", "weigh", "price", "rate", "fee", "fare")


def _mine_for_theirs(flat: str) -> str:
    return _THEIRS.sub("my", flat) if _ANYONE.search(flat) else flat


def _to_the_power(match: re.Match[str]) -> str:
    """`x squared` as x^2."""
    return f"{match['base']}^{3 if match['power'].lower() == 'cubed' else 2}"


def _by_age(match: re.Match[str]) -> str:
    """`younger than 12` as under 12."""
    return "under " if match["bound"].lower() == "younger" else "over "


def _half_of_day(match: re.Match[str]) -> str:
    """`6 in the morning` as 6 am."""
    return f"{match['hour']} {'am' if (match['part'] or '').lower() == 'morning' else 'pm'}"


def _half_of_that_day(match: re.Match[str]) -> str:
    """`6 tomorrow morning` as 6 am tomorrow."""
    day = "" if match["day"].lower() in ("this", "today") else match["day"]
    return f"{match['hour']} {'am' if match['part'].lower() == 'morning' else 'pm'} {day}".rstrip()


def _bounded(match: re.Match[str]) -> str:
    """`ten or more` as at least ten."""
    return f"at {'least' if match['bound'].lower() in _UPWARD else 'most'} {match['number']}"


def _per(match: re.Match[str]) -> str:
    """`visits a month` as visits per month."""
    if match["before"].lower() in _NO_COUNT:
        return match.group()
    return f"{match['before']} per {match['period']}"


def _compared(match: re.Match[str]) -> str:
    """`costs less` as is cheaper, `weighs more` as is heavier."""
    if match["weighs"]:
        return f"is {_WEIGHED[match['weight'].lower().removeprefix('the ')]}"
    return _COMPARED[(match["less"] or match["level"]).lower().removeprefix("the ")]


def _quarter(match: re.Match[str]) -> str:
    """`Q3` and `third quarter` as quarter 3."""
    ordinal = (match["ordinal"] or "").lower()
    return f"quarter {match['number'] or 1 + 'first second third fourth'.split().index(ordinal)}"


def _past(match: re.Match[str]) -> str:
    """`half past three` as 3:30."""
    hour = (
        int(match["hour"])
        if match["hour"].isdigit()
        else int(english_number([match["hour"].lower()]) or 0)
    )
    minute = {"half past": 30, "quarter past": 15, "quarter to": 45}[
        " ".join(match["part"].lower().split())
    ]
    return f"{hour - (minute == 45)}:{minute:02d}"


@cache
def _phrase_table() -> dict[str, str]:
    return {key: full.replace("<", "").replace(">", "") for key, full in PHRASES.items()}


@cache
def _phrases() -> re.Pattern[str]:
    rules = sorted(map(re.escape, PHRASES), key=len, reverse=True)
    return re.compile(r"(?<![\w'])(?:" + "|".join(rules) + r")(?![\w'])", re.I | re.A)
