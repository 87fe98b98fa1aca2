"""Two requests side by side: what they share, where they part, why, and what mending would
regain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evaluation.audit.breaks import Break, find_breaks
from evaluation.audit.divergence import Neighbourhood, first_difference, neighbourhood
from evaluation.audit.prefix import DEFAULT_BLOCK_TOKENS
from evaluation.audit.prompt import Renderer
from evaluation.audit.records import UnreadableRow, parse_record
from service.errors import InvalidRequest
from service.key import canonicalize


class RequestUnreadable(ValueError):
    """The file holds no request; the message says why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far b could reuse a. `first_token` is the index of the first differing token id.

    `is_prefix` is True when one prompt goes on where the other ends: nothing is lost.
    `same_key` is True when the cache's exact tier would serve b from a.
    """

    tokens_a: int
    tokens_b: int
    shared_tokens: int
    shared_blocks: int
    block_tokens: int
    is_prefix: bool
    same_key: bool
    key_difference: str | None
    """Where the same prompt has two keys: the JSON path of what else differs, and both values."""
    first_token: int | None
    where: Neighbourhood | None
    breaks: tuple[Break, ...]


def compare(
    a: Any, b: Any, renderer: Renderer, *, block_tokens: int = DEFAULT_BLOCK_TOKENS
) -> Comparison:
    """Compare two request bodies (or prompts)."""
    x, y = renderer.render(a), renderer.render(b)
    found = first_difference(x, y)
    same_prompt = found is None and len(x.tokens) == len(y.tokens)
    shared = found.token if found else min(len(x.tokens), len(y.tokens))
    return Comparison(
        len(x.tokens),
        len(y.tokens),
        shared,
        shared // block_tokens,
        block_tokens,
        found is None,
        _same_key(a, b),
        _key_difference(a, b) if same_prompt else None,
        found.token if found else None,
        neighbourhood(x, y, found, renderer.tokenizer) if found else None,
        find_breaks(x, y, renderer.tokenizer, min_lost_tokens=1),
    )


def read_request(path: Path) -> Any:
    """The request in a JSON file: a body, a wrapper of a log, or a bare string.

    Raises RequestUnreadable.
    """
    try:
        record = parse_record(orjson.loads(path.read_bytes()), 1)
    except OSError as error:
        raise RequestUnreadable(f"{path}: {error.strerror}") from error
    except (orjson.JSONDecodeError, UnreadableRow) as error:
        raise RequestUnreadable(f"{path}: {error}") from error
    if record.request is None:
        raise RequestUnreadable(f"{path}: a row of a trace without a request")
    return record.request


def _same_key(a: Any, b: Any) -> bool:
    try:
        return canonicalize(a).body == canonicalize(b).body
    except InvalidRequest:
        return False


def _key_difference(a: Any, b: Any) -> str | None:
    from service.explain import first_difference as of_json

    try:
        found = of_json(*(orjson.loads(canonicalize(request).body) for request in (a, b)))
    except InvalidRequest:
        return None
    return None if found is None else f"{found.path}: {found.a!r} and {found.b!r}"
