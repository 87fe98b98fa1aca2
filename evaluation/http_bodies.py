"""What the bodies of the review and tuning routes look like. Unknown fields are refused."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue


def one_name(name: str) -> str:
    """A person's name in one spelling: «Ann » is Ann, and must not be the second reviewer of what Ann labelled."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def _person(name: str) -> str:
    name = one_name(name)
    if not name:
        raise ValueError("must not be blank")
    return name


Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
Person = Annotated[Name, AfterValidator(_person)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Note = Annotated[str, Field(max_length=4_000)]
Verdict = Literal["reusable", "not_reusable", "unsure"]
Reason = Literal[
    "different_intent",
    "number",
    "entity",
    "negation",
    "direction",
    "stale",
    "personal",
    "answer_bad",
    "other",
]


class _Ours(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Who(_Ours):
    """A reviewer."""

    reviewer: Person


class Ask(Who):
    """A reviewer and the line of his choice."""

    line: Name


class LabelBody(Who):
    """A verdict on an item."""

    verdict: Verdict
    reason: Reason | None = None
    note: Note | None = None


class FlagBody(Who):
    """Something an admin should look at."""

    note: Note = ""


class GoldBody(_Ours):
    """An item with a known answer. `fresh_answer` is what the model would have said to `query`."""

    line: Name
    query: Text
    entry_query: Text
    answer: JsonValue
    verdict: Literal["reusable", "not_reusable"]
    fresh_answer: JsonValue = None


class TuneBody(_Ours):
    """A look at a line's labels; what is not given is the line's own setting."""

    target: Annotated[float, Field(ge=0.0001, le=0.5)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.9999)] | None = None
    apply: Annotated[bool, Field(strict=True)] = False
    score: Literal["auto", "cosine", "learned"] = "auto"
    reason: Annotated[str, Field(max_length=1_000)] = ""


class ApplyBody(_Ours):
    """Why a decision is put in force."""

    reason: Annotated[str, Field(max_length=1_000)] = ""
