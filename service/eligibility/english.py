"""Reads an English request: opening, frame (question, value asked for, order, statement), and what it is about."""

import re
from dataclasses import dataclass

from service.eligibility.patterns import compiled

_IS = compiled("english", whole_words=True)
"""The blocks of `english_patterns.txt`, where each is explained."""


_STEM = re.compile(r"\b[a-z]{1,4}")


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
    opened = _IS["opening"].match(low)
    core = low[opened.end() :] if opened else low
    found = _IS["asked"].match(core)
    return Reading(
        text,
        low,
        core,
        core[found.end() :] if found else core,
        found is not None,
        _IS["wished"].search(low, 0, len(low) - len(core)) is not None,
        _IS["how to"].search(low) is not None,
        _IS["why"].search(low) is not None,
        frozenset(_STEM.findall(low)),
    )


# ---------------------------------------------------------------- personal


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
    numbered = _IS["numbered"].search(at.text)
    if numbered:
        return numbered.group()
    found = _IS["self"].search(at.text)
    if found and not _IS["renames"].search(at.text):
        return found.group()
    is_value = (
        _IS["value question"].match(at.inner) is not None
        or _IS["asked last"].search(at.text) is not None
    )
    is_question = is_value or at.asked or _IS["yes no"].match(at.inner) is not None
    if " my " not in at.text and _IS["software"].search(at.text):
        return None
    generic = _IS["generic"].search(at.text) is not None
    if not generic and (" my " in at.text or not _IS["definition"].search(at.text)):
        found = _IS["household"].search(at.text) or (
            _IS["spent"].search(at.text) if at.asked else None
        )
        if found:
            return found.group()
    is_rule = _IS["may i"].search(at.text) is not None
    if is_question and not is_rule:
        own = _about_own(at, is_value=is_value, generic=generic)
        if own:
            return own
    if not is_rule:
        return _somebodys_item(at, is_question=is_question, generic=generic)
    return None


def _about_own(at: Reading, *, is_value: bool, generic: bool) -> str | None:
    whether = _IS["whether my"].search(at.core) if at.asked else None
    if whether and not _IS["fees"].search(at.text):
        return whether.group()
    if generic:
        return None
    shared = _IS["group own"].search(at.inner)
    if shared and not _IS["definition"].search(at.text):
        return shared.group()
    found = _IS["i state"].search(at.inner)
    if found:
        return found.group()
    is_asked = is_value or at.asked
    own = _IS["own value"].match(at.inner) if is_asked else None
    if own:
        return own.group()
    held = _IS["own held"].search(at.inner) if is_asked else None
    if held:
        return held.group()
    state = _IS["my state"].match(at.inner) or _IS["is my"].match(at.inner)
    return state.group() if state else None


def _somebodys_item(at: Reading, *, is_question: bool, generic: bool) -> str | None:
    if " my " not in at.text and _IS["definition"].search(at.text):
        return None
    car = _IS["the car"].search(at.text)
    if car and is_question and _IS["car state"].search(at.text):
        return car.group()
    found = _IS["items"].search(at.text) if is_question else None
    if found:
        return found.group()
    askers = (
        _IS["askers"].search(at.inner)
        if is_question
        else _IS["askers"].match(_IS["lead"].sub("", at.inner))
    )
    if askers and not generic:
        return askers.group()
    if not is_question and at.inner.count(" ") < 6:
        held = _IS["own held"].match(at.inner)
        return held.group() if held else None
    return None


# ---------------------------------------------------------------- acting


def acting(at: Reading) -> str | None:
    """The words by which the request is an order to do something, or None.

    A wish about an account («I want to change my plan») is answered by a help page; an order
    («change my plan») is not.
    """
    if at.how_to or at.why:
        return None
    is_question = (
        _IS["value question"].match(at.inner) is not None
        or _IS["of others"].match(at.core) is not None
        or _IS["talk"].search(at.core) is not None
    )
    is_sql = _IS["sql"].search(at.text) is not None
    found = None if is_question or is_sql else _IS["at assistant"].search(at.core)
    if found:
        return found.group() or at.core
    if _IS["asks about"].match(at.core):
        return None
    if at.wished and _IS["service"].match(at.core) and not _IS["certain"].search(at.core):
        return None
    if _IS["noun phrase"].match(at.core) or (not at.asked and _IS["heading"].match(at.core)):
        return None
    mine = _IS["all of mine"].match(at.core)
    if mine and not _IS["language named"].search(at.core):
        return mine.group()
    found = (
        _IS["no code"].match(at.core)
        or _IS["service order"].match(at.core)
        or (None if at.asked else _IS["handled"].match(at.core))
        or _deed(at)
    )
    if (
        found is None
        or (is_sql and not at.wished)
        or (not at.wished and not _IS["errand"].match(at.core) and _is_code(at))
    ):
        return None
    return found.group()


def _deed(at: Reading) -> "re.Match[str] | None":
    deed = _IS["deed"].match(at.core)
    if deed:
        rest = at.core[deed.end() :].lstrip()
        if _IS["on device"].match(rest) or _IS["at time"].search(rest):
            return deed
    if at.wished and (not at.asked or at.core.startswith(("find", "get", "need", "want"))):
        return _IS["wanted"].match(at.core)
    return None


def _is_code(at: Reading) -> bool:
    if _IS["code"].search(at.core, 0, 90) is None and _IS["sql"].search(at.text) is None:
        return False
    return _IS["home"].search(at.core) is None


# ---------------------------------------------------------------- volatile


_TOPIC_STEMS = frozenset(
    "mark jamm weat fore umbr suns rain jack coat boot swea glov warm humi snow wind sun clou fog fogg chil free stor thun hail bliz driz over cold "
    "hot cool wet dry nice temp degr clim stoc shar bitc btc gold silv crud gas gaso petr cryp ethe nasd dow ftse exch conv curr inte "
    "doll euro yen rupe poun peso yuan rubl fran won usd us u g eur gbp inr jpy cad aud rate news head brea happ goin tren elec spor game scor stan "
    "upda c cnn b bbc arti traf road cong fast comm busy busi crow pack full slam wait line seat time day date mont year hour minu "
    "long week noon midn ocl o mond tues wedn thur frid satu sund ten elev morn holi chri east hall than rama mothe labo moth fath memo diwa eid hanu "
    "hott sunn sunr next upco near clos foll comi movi film show scre cine thea anim pict play star begi see watc mult air winn win lead live real "
    "conc fest even part fair exhi acti thin some perf gig gigs trai bus flig tram subw metr plan depa leav firs last top curr".split()
)


def volatile(at: Reading) -> str | None:
    """The words by which the answer passes with time, or None."""
    found = _IS["topics"].search(at.text) if not at.stems.isdisjoint(_TOPIC_STEMS) else None
    is_topic = (
        found is not None and not at.why and not at.how_to and _IS["past"].match(at.inner) is None
    )
    if not is_topic:
        found = _IS["now"].search(at.text) or (
            None if at.how_to or at.why else _IS["weak now"].search(at.text)
        )
    if found is None or _binds_nothing(at, is_topic=is_topic):
        return None
    return found.group()


def _binds_nothing(at: Reading, *, is_topic: bool) -> bool:
    """True where the words of time stand in code, small talk or the tale of a mishap, not in what is asked."""
    if (
        _IS["named"].search(at.original)
        or _IS["timeless"].search(at.text)
        or _IS["sql"].search(at.text)
        or _IS["small talk"].search(at.text)
    ):
        return True
    is_mishap = _IS["mishap"].search(at.text) is not None
    if is_mishap and _IS["own story"].search(at.text):
        return True
    if is_topic:
        service = _IS["service words"].search(at.text)
        return service is not None and (
            service.group(1) is not None or _IS["may i"].search(at.text) is not None
        )
    return at.why and " my " in at.text


# ---------------------------------------------------------------- creative


def creative(at: Reading) -> str | None:
    """The words by which a fresh invention is wanted, or None."""
    if at.how_to or at.why or _IS["sql"].search(at.text):
        return None
    found = _IS["creative"].search(at.text)
    return found.group() if found else None
