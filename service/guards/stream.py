"""The token stream of one text while amounts are taken out of it."""

from dataclasses import dataclass, field

from service.guards.quantity import Quantity
from service.guards.text import Token


@dataclass
class Amounts:
    """The amounts of one text, and the tokens left over with a place holder for each amount."""

    quantities: list[Quantity] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    rest: list[Token] = field(default_factory=list)


def key_at(tokens: list[Token], at: int) -> str:
    return tokens[at].key if 0 <= at < len(tokens) else ""


def is_kind(tokens: list[Token], at: int, kind: str) -> bool:
    return 0 <= at < len(tokens) and tokens[at].kind == kind


def joined(tokens: list[Token], at: int) -> bool:
    """Whether token `at` follows its predecessor without a blank."""
    return 0 < at < len(tokens) and (
        tokens[at].start == tokens[at - 1].start + len(tokens[at - 1].text)
    )


def hold(found: Amounts, kind: str, key: str, token: Token) -> None:
    found.rest.append(Token(kind, token.text, key, token.start))
