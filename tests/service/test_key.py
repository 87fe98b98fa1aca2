"""The canonical request, its exact key and its context: what parts two requests and what does not."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import key
from service.errors import InvalidRequest

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text(max_size=12)}
    ),
    min_size=1,
    max_size=4,
)
REQUESTS = st.builds(
    lambda settings, messages: settings | {"messages": messages},
    st.dictionaries(st.text(min_size=1, max_size=6), VALUES, max_size=4),
    MESSAGES,
)
NAMES = st.text(min_size=1, max_size=8).filter(
    lambda name: name not in key.INERT_FIELDS and name not in ("messages", "input", "prompt")
)


def body(request: Any) -> bytes:
    return key.canonicalize(request).body


def turned(value: Any) -> Any:
    """The same JSON with the keys of every object in reverse."""
    if isinstance(value, dict):
        return {name: turned(inner) for name, inner in reversed(value.items())}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


def said(value: Any) -> bytes:
    """A value as JSON text, 1.0 like 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS)


@given(REQUESTS)
def test_field_order_never_matters(request: dict[str, Any]) -> None:
    assert body(request) == body(turned(request))


@given(REQUESTS)
def test_canonicalizing_twice_is_canonicalizing_once(request: dict[str, Any]) -> None:
    once = key.canonicalize(request)
    twice = key.canonicalize(orjson.loads(once.body))
    assert (once.body, once.context, once.query) == (twice.body, twice.context, twice.query)


@given(REQUESTS, NAMES, VALUES)
def test_a_further_setting_always_matters(request: dict[str, Any], name: str, value: Any) -> None:
    """A left-out temperature is not a null one."""
    without = {k: v for k, v in request.items() if k != name}
    first, second = key.canonicalize(without), key.canonicalize(without | {name: value})
    assert first.body != second.body
    assert first.context != second.context


@given(REQUESTS, NAMES, VALUES, VALUES)
def test_another_value_always_matters(
    request: dict[str, Any], name: str, one: Any, other: Any
) -> None:
    first, second = request | {name: one}, request | {name: other}
    try:
        differ = said(one) != said(other)
    except TypeError:  # an integer beyond 64 bits made from a float
        return
    assert (body(first) != body(second)) == differ


@given(REQUESTS, st.sampled_from(sorted(key.INERT_FIELDS)), VALUES)
def test_an_inert_field_never_matters(request: dict[str, Any], name: str, value: Any) -> None:
    assert body({k: v for k, v in request.items() if k != name}) == body(request | {name: value})


@given(REQUESTS, VALUES)
def test_a_lines_own_inert_field_never_matters(request: dict[str, Any], value: Any) -> None:
    inert = frozenset({"x-trace"})
    with_it = key.canonicalize(request | {"x-trace": value}, inert=inert)
    assert with_it.body == key.canonicalize(request, inert=inert).body
    assert with_it.body != body(request | {"x-trace": value})


@given(MESSAGES, MESSAGES)
def test_two_conversations_never_share_a_body(
    one: list[dict[str, str]], other: list[dict[str, str]]
) -> None:
    """However the words are spread over roles and turns."""

    def plain(messages: list[dict[str, str]]) -> list[tuple[str, str]]:
        return [(m["role"], key.canonical_text(m["content"])) for m in messages]

    same = body({"messages": one}) == body({"messages": other})
    assert same == (plain(one) == plain(other))


@given(MESSAGES, st.data())
def test_moving_a_boundary_always_matters(
    messages: list[dict[str, str]], data: st.DataObject
) -> None:
    """Text moved from one message to its neighbour is another conversation."""
    text = "ab" + messages[0]["content"] + "cd"
    cut = data.draw(st.integers(1, len(text) - 1))
    pair = [{"role": "user", "content": text[:cut]}, {"role": "user", "content": text[cut:]}]
    assert body({"messages": [*pair, *messages]}) != body(
        {"messages": [{"role": "user", "content": text}, *messages]}
    )


PARTS = st.tuples(*[st.text(max_size=4)] * 4, st.binary(max_size=4))


@given(PARTS, PARTS)
def test_exact_keys_are_equal_only_for_equal_parts(one: Any, other: Any) -> None:
    """Lengths stand before the parts, so that no separator can be forged."""

    def made(parts: Any) -> bytes:
        tenant, scope, line, version, of_body = parts
        return key.exact_key(
            tenant=tenant, scope=scope, line=line, policy_version=version, body=of_body
        )

    assert (made(one) == made(other)) == (one == other)


@given(st.text(min_size=4, max_size=12), st.integers(1, 3), st.integers(1, 3))
def test_glued_names_never_share_a_key(text: str, first: int, second: int) -> None:
    """Tenant, scope and line cut at other places of one text."""

    def cut(at: int) -> tuple[bytes, bytes]:
        parts = {"tenant": text[:at], "scope": text[at:], "line": "l", "policy_version": "1"}
        exact = key.exact_key(**parts, body=b"x")
        return exact, key.partition_key(**parts, fingerprint="f", context_hash=b"x")

    a, b = cut(first), cut(second)
    assert (a[0] == b[0]) == (a[1] == b[1]) == (first == second)


@given(st.text(max_size=20))
def test_canonical_text_is_idempotent_and_blind_to_composition(text: str) -> None:
    once = key.canonical_text(text)
    assert once == key.canonical_text(once)
    assert once == key.canonical_text(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("café", "cafe\u0301", True),
        ("x  ", "x", True),
        ("a\r\nb\rc", "a\nb\nc", True),
        ("  x", "x", False),
        ("a  b", "a b", False),
        ("X", "x", False),
        ("2⁵", "25", False),
        ("ﬁ", "fi", False),
        ("Ａ", "A", False),
        ("if x:\n    y()", "if x:\ny()", False),
        ("a\n\nb", "a\nb", False),
    ],
)
def test_what_is_folded_and_what_is_not(a: str, b: str, equal: bool) -> None:
    wraps: list[Callable[[str], Any]] = [
        lambda t: t,
        lambda t: {"input": t},
        lambda t: {"messages": [{"role": "user", "content": t}]},
        lambda t: {"messages": [{"role": "user", "content": [{"type": "text", "text": t}]}]},
    ]
    for wrap in wraps:
        assert (body(wrap(a)) == body(wrap(b))) == equal


def _user(*texts: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text} for text in texts]
    return {"messages": [{"role": "user", "content": parts}]}


def _chat(role: str, text: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text}, *more]}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (_user("Join: foo ", "bar"), _user("Join: foo", "bar")),
        (_user("Join: foo ", "bar"), _user("Join: foo")),
        ({"prompt": "def f():\n    "}, {"prompt": "def f():"}),
        (_chat("assistant", "Answer: "), _chat("assistant", "Answer:")),
        (
            _chat("system", "Say\n", {"role": "user", "content": "x"}),
            _chat("system", "Say", {"role": "user", "content": "x"}),
        ),
        (
            _chat("user", "one ", {"role": "user", "content": "x"}),
            _chat("user", "one", {"role": "user", "content": "x"}),
        ),
    ],
)
def test_white_space_counts_wherever_something_may_come_behind_it(a: Any, b: Any) -> None:
    """Another part of the text, or what the model goes on with."""
    assert body(a) != body(b)


def test_message_ids_and_cache_marks_are_inert_but_item_references_are_not() -> None:
    """An item without a role may say nothing but an id (OpenAI responses)."""

    def talk(**extra: Any) -> bytes:
        return body({"messages": [{"role": "user", "content": "x"} | extra]})

    assert talk() == talk(id="m1") == talk(id="m2", cache_control={"type": "ephemeral"})

    def refers(to: str) -> bytes:
        asked = {"role": "user", "content": "and?"}
        return body({"input": [{"type": "item_reference", "id": to}, asked]})

    assert refers("msg_1") != refers("msg_2")


def test_marks_for_the_providers_cache_are_inert_in_system_and_tools() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    asked = [{"role": "user", "content": "q"}]
    system, tool = {"type": "text", "text": "S"}, {"name": "f", "input_schema": {}}
    plain = {"system": [system], "tools": [tool], "messages": asked}
    marked = {"system": [system | mark], "tools": [tool | mark], "messages": asked}
    assert body(plain) == body(marked)


def test_the_query_is_the_last_text_of_the_last_user_message() -> None:
    parts = [
        {"type": "text", "text": "template"},
        {"type": "image_url", "image_url": {"url": "data:a"}},
        {"type": "text", "text": "question "},
    ]
    found = key.canonicalize({"messages": [{"role": "user", "content": parts}]})
    assert found.query == "question"
    other = [*parts[:2], {"type": "text", "text": "another"}]
    assert (
        found.context
        == key.canonicalize({"messages": [{"role": "user", "content": other}]}).context
    )


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"messages": [{"role": "assistant", "content": "x"}]}, "turn"),
        ({"messages": [{"role": "user", "content": "\u200b "}]}, "blank"),
        ({"messages": [{"role": "user", "content": None}]}, "blank"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "shape"),
        ({"messages": ["x"]}, "shape"),
        ({"model": "m"}, "shape"),
        (7, "shape"),
        (" ", "blank"),
    ],
)
def test_requests_without_a_query_say_why(request_: Any, why: str) -> None:
    found = key.canonicalize(request_)
    assert (found.query, found.no_query) == (None, why)
    assert found.is_blank == (why == "blank")


@pytest.mark.parametrize("request_", [None, {"messages": []}, {"input": []}])
def test_requests_that_ask_nothing_are_refused(request_: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        key.canonicalize(request_)
    assert caught.value.errors[0].field.startswith("request")


def test_integral_floats_are_integers_at_the_top_level() -> None:
    assert body({"temperature": 0.0}) == body({"temperature": 0}) == body({"temperature": -0.0})
    assert body({"temperature": 0}) != body({"temperature": False}) != body({})


@given(st.integers(min_value=2**63), st.integers(min_value=1, max_value=1000), st.booleans())
def test_integers_keep_all_their_digits(number: int, step: int, is_negative: bool) -> None:
    sign = -1 if is_negative else 1
    first, second = (
        key.canonicalize(key.parse(b'{"seed":%d,"messages":[{"role":"user","content":"x"}]}' % n))
        for n in (sign * number, sign * (number + step))
    )
    assert first.body != second.body
    assert str(number).encode() in first.body


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"1e999", b'"\xff"', b"[" * 100_000])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequest):
        key.parse(text)


@pytest.mark.parametrize("kind", [["text"], {"type": "text"}, None, 1, 10**30, True])
@pytest.mark.parametrize("field", ["messages", "input"])
def test_a_type_that_is_no_name_is_a_part_like_any_other(field: str, kind: Any) -> None:
    """It is part of the key, and no text to be compared by meaning."""
    parts = [{"type": "text", "text": "a"}, {"type": kind, "text": "b"}]
    whole = key.canonicalize({field: [{"role": "user", "content": parts}]})
    last = key.canonicalize({field: [{"role": "user", "content": parts[1:]}]})
    assert whole.query == "a"
    assert (last.query, last.no_query) == (None, "shape")
    assert whole.body != key.canonicalize({field: [{"role": "user", "content": parts[:1]}]}).body
