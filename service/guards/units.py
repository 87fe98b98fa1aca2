"""Units of content, and the state in which the tokens of one text are read into them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from service.guards.marks import MarkReader


class Unit(NamedTuple):
    """A piece of content: its key, its kind, the role its preposition gives it, as written."""

    key: str
    kind: str
    role: str
    text: str


@dataclass
class Reader:
    """The state while the tokens of one text are walked."""

    capital_news: bool
    han: bool = False
    units: list[Unit] = field(default_factory=list)
    negations: int = 0
    code: list[str] = field(default_factory=list)
    marks: MarkReader = field(default_factory=MarkReader)
    capitals: set[str] = field(default_factory=set)
    lower: set[str] = field(default_factory=set)
    role: str = ""
    degree: str = ""
    denied: bool = False
    denials: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)
    """Units that follow the unit before them without a small word or a mark between."""

    def add(self, key: str, kind: str, text: str) -> None:
        """Append a unit with the role and the denial that stand before it."""
        if self.degree and kind != "num":
            self.marks.degrees.append((key, self.degree))
            self.degree = ""
        if self.denied:
            self.denials.append(len(self.units))
            self.denied = False
        self.units.append(Unit(key, kind, self.role, text))
        self.role = ""
