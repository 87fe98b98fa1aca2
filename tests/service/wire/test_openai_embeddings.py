"""Embeddings: both encodings out of one stored form."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.key import canonicalize
from service.wire import openai_embeddings as api

BODY = {"model": "e", "input": "Hello"}
_floats = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)


def response(*vectors):
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"object": "list", "data": data, "model": "e-2026", "usage": usage}


def _base64(vector):
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _rendered(stored, encoding=None):
    body = BODY if encoding is None else {**BODY, "encoding_format": encoding}
    return json.loads(api.render_json(stored, body, now=0, new_id="x"))


@given(_floats)
def test_each_encoding_is_served_from_either(vector):
    for stored in (response(vector), response(_base64(vector))):
        assert vector == _rendered(stored)["data"][0]["embedding"]
        assert vector == _rendered(stored, "float")["data"][0]["embedding"]
        assert _base64(vector) == _rendered(stored, "base64")["data"][0]["embedding"]


def test_numbers_with_more_digits_are_kept_for_those_who_ask_for_numbers():
    assert _rendered(response([0.1]))["data"][0]["embedding"] == [0.1]


def test_a_hit_spent_nothing():
    assert _rendered(response([1.0]))["usage"] == {"prompt_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (response([0.5, 1], _base64([1.0])), None),
        (response(), "empty"),
        (response([]), "malformed"),
        (response("%%%"), "malformed"),
        (response("AAA="), "malformed"),  # two bytes are no float32
        (response([True]), "malformed"),
        ({**response([1.0]), "data": [{"index": 1, "embedding": [1.0]}]}, "malformed"),
        ({"error": {"message": "x"}}, "error_in_200"),
        ({}, "malformed"),
    ],
)
def test_storable(answer, reason):
    assert reason == api.storable(answer)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"input": [[1, 2]], "encoding_format": "float"}, None),
        ({"input": ""}, "malformed"),
        ({"encoding_format": "int8"}, "malformed"),
        ({"$wire": 1}, "reserved_field"),
    ],
)
def test_bypass(fields, reason):
    assert reason == api.bypass_reason({**BODY, **fields})


def _key(body):
    return canonicalize(api.as_request(body, {}))


def test_the_encoding_is_not_in_the_key_and_the_dimensions_are():
    assert _key(BODY).body == _key({**BODY, "encoding_format": "base64", "user": "u"}).body
    assert _key(BODY).body == _key({**BODY, "input": ["Hello"]}).body
    assert _key(BODY).body != _key({**BODY, "dimensions": 8}).body


@pytest.mark.parametrize("other", ["Hello ", "hello", "Hello\r\n", "He\u0301llo"])
def test_a_vector_is_for_the_very_same_text(other):
    assert _key(BODY).body != _key({**BODY, "input": other}).body


def test_texts_are_not_tidied_before_they_are_keyed():
    one, two = ({**BODY, "input": text} for text in ("e\u0301", "\u00e9"))

    assert _key(one).body != _key(two).body
    assert _key(one).query is None
    assert api.query_text_location(api.as_request(one, {})) is None


def test_there_is_no_stream():
    assert not api.is_streaming({**BODY, "stream": True})
    with pytest.raises(ValueError, match="never streamed"):
        api.assembler()
