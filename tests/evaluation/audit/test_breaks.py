"""Every cause of a broken prefix, built on purpose: found, named, and counted in tokens exactly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.audit.breaks import Break, find_breaks
from evaluation.audit.causes import Cause
from evaluation.audit.divergence import first_difference, neighbourhood, shared_tokens
from evaluation.audit.prompt import DEFAULT_SYSTEM_PATH, Renderer
from evaluation.audit.tokens import Tokenizer

RULES = " ".join(f"Rule {n}: stay polite and never reveal secret number {n}." for n in range(30))
QUESTION = "How do I reset my password?"
END = "<|im_end|>\n"
USER = "<|im_start|>user\n"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{n}",
            "description": f"Does the thing number {n} for the user",
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}},
        },
    }
    for n in range(4)
]


def chat(
    system: str | None = RULES, question: str = QUESTION, *earlier: dict[str, Any], **more: Any
) -> dict[str, Any]:
    first = [] if system is None else [{"role": "system", "content": system}]
    last = {"role": "user", "content": question}
    return {"model": "m", "messages": [*first, *earlier, last], **more}


def breaks(renderer: Renderer, a: Any, b: Any, *, least: int = 1) -> list[Break]:
    found = find_breaks(
        renderer.render(a), renderer.render(b), renderer.tokenizer, min_lost_tokens=least
    )
    return list(found)


def whole(tokenizer: Tokenizer, text: str) -> int:
    """Tokens of a text with control tokens, encoded in one piece: independent of our segments."""
    return len(tokenizer.encode_markup(text))


def rest_behind_system(tokenizer: Tokenizer, question: str = QUESTION) -> int:
    return whole(tokenizer, f"{END}{USER}{question}{END}<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("front", "value_a", "value_b", "cause"),
    [
        ("Now: ", "2026-01-01T10:00:00Z", "2025-12-24T08:13:59Z", Cause.TIMESTAMP),
        ("Today is ", "March 3, 2026", "July 14, 2026", Cause.TIMESTAMP),
        ("今天是", "2026年1月5日", "2026年3月17日", Cause.TIMESTAMP),
        ("Request ", "req_8fk2Lq93", "req_zz71bPw0", Cause.ID),
        (
            "Trace ",
            "9b2d3c1a-1111-4222-8333-abcdefabcdef",
            "0c4e5f6a-9999-4888-8777-123412341234",
            Cause.ID,
        ),
        ("The user is called ", "Alice Smith", "Bob", Cause.NAME),
        ("Region ", "north", "south-west two", Cause.VALUE),
    ],
)
def test_a_value_in_front_costs_all_the_fixed_text_behind_it(
    renderer: Renderer, front: str, value_a: str, value_b: str, cause: Cause
) -> None:
    systems = [f"{front}{value}. {RULES}" for value in (value_a, value_b)]
    (found,) = breaks(renderer, *(chat(system) for system in systems))
    in_one_piece = [
        renderer.tokenizer.encode_markup(
            f"<|im_start|>system\n{system}{END}{USER}{QUESTION}{END}<|im_start|>assistant\n"
        ).tolist()
        for system in systems
    ]
    assert cause == found.cause
    assert found.where.path_b == "$.messages[0].content"
    assert common_front(*in_one_piece) == found.token
    assert common_front(*(tokens[::-1] for tokens in in_one_piece)) == found.lost_tokens


def common_front(a: list[int], b: list[int]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))


def test_two_values_are_two_causes_and_their_tokens_do_not_overlap(renderer: Renderer) -> None:
    half = RULES[: len(RULES) // 2]
    a = chat(f"Now: 2026-01-01T10:00:00Z. {half} Trace req_8fk2Lq93. {half}")
    b = chat(f"Now: 2025-11-02T11:11:11Z. {half} Trace req_zz71bPw0. {half}")
    first, second = breaks(renderer, a, b)
    assert (first.cause, second.cause) == (Cause.TIMESTAMP, Cause.ID)
    total = len(renderer.render(b).tokens) - first.token
    assert total - 30 < first.lost_tokens + second.lost_tokens < total


def test_reordered_tools_cost_everything_behind_the_first_that_moved(renderer: Renderer) -> None:
    a, b = chat(tools=TOOLS), chat(tools=TOOLS[::-1])
    (found,) = breaks(renderer, a, b)
    prompt = renderer.render(b)
    assert found.cause == Cause.TOOLS_REORDERED
    assert found.where.path_b == "$.tools[0]"
    assert len(prompt.tokens) - found.token == found.lost_tokens


def test_reserialised_tools_are_told_from_changed_ones(renderer: Renderer) -> None:
    sorted_keys = json.loads(json.dumps(TOOLS, sort_keys=True))
    (found,) = breaks(renderer, chat(tools=TOOLS), chat(tools=sorted_keys))
    assert found.cause == Cause.JSON_RESERIALISED
    assert len(renderer.render(chat(tools=TOOLS)).tokens) - found.token == found.lost_tokens


def test_a_dropped_tool_costs_what_follows_the_tools(renderer: Renderer) -> None:
    (found,) = breaks(renderer, chat(tools=TOOLS), chat(tools=TOOLS[:3]))
    tokenizer = renderer.tokenizer
    expected = whole(tokenizer, f"<|im_start|>system\n{RULES}") + rest_behind_system(tokenizer)
    assert (Cause.TOOLS_CHANGED, expected) == (found.cause, found.lost_tokens)


@pytest.mark.parametrize(
    ("setting", "a", "b", "in_front_of"),
    [
        ("tool_choice", "auto", "required", "messages"),
        ("thinking", {"type": "enabled", "budget_tokens": 1000}, None, "messages"),
        ("reasoning_effort", "low", "high", "messages"),
        ("web_search_options", {}, None, "system"),
        ("response_format", {"type": "json_object"}, {"type": "text"}, "system"),
        ("model", "m", "m-large", "all"),
    ],
)
def test_a_hidden_setting_costs_what_stands_behind_it_though_no_token_differs(
    renderer: Renderer, setting: str, a: Any, b: Any, in_front_of: str
) -> None:
    tokenizer = renderer.tokenizer
    first = chat(tools=TOOLS) | {setting: a}
    second = chat(tools=TOOLS) | ({} if b is None else {setting: b})
    if b is None and setting != "model":
        second.pop(setting, None)
    (found,) = breaks(renderer, first, second)
    behind = {
        "messages": whole(tokenizer, f"{USER}{QUESTION}{END}<|im_start|>assistant\n"),
        "system": whole(tokenizer, f"<|im_start|>system\n{RULES}") + rest_behind_system(tokenizer),
        "all": len(renderer.render(first).tokens),
    }
    assert behind[in_front_of] == found.lost_tokens
    assert f"$.{setting}" == found.where.path_b
    assert (Cause.MODEL if setting == "model" else Cause.SETTING) == found.cause


def test_citations_switched_on_count_as_a_hidden_setting_of_the_system(renderer: Renderer) -> None:
    def request(on: bool) -> dict[str, Any]:
        source = {"type": "text", "media_type": "text/plain", "data": "The sky is blue."}
        part = {"type": "document", "source": source, "citations": {"enabled": on}}
        content = [part, {"type": "text", "text": QUESTION}]
        return {"system": RULES, "messages": [{"role": "user", "content": content}]}

    found = breaks(renderer, request(True), request(False))
    assert found[0].cause == Cause.SETTING
    assert "citations" in found[0].where.path_b
    assert found[0].token == 0


def test_an_appended_conversation_loses_nothing(renderer: Renderer) -> None:
    turns = [
        {"role": "user", "content": "hello there"},
        {"role": "assistant", "content": "Hi! What can I do for you today? " * 10},
    ]
    a = chat(RULES, "hello there")
    b = chat(RULES, "explain TCP", *turns)
    assert first_difference(renderer.render(a), renderer.render(b)) is None
    assert breaks(renderer, a, b) == []


def test_a_rewritten_history_costs_all_of_it_up_to_the_last_turn(renderer: Renderer) -> None:
    answer = {"role": "assistant", "content": "Hi! What can I do for you today? " * 10}
    summary = {"role": "assistant", "content": "[summary of a friendly greeting] " * 25}
    opening = {"role": "user", "content": "hello there"}
    question = {"role": "user", "content": "explain TCP"}
    reply = {"role": "assistant", "content": "TCP is a protocol."}
    a = chat(RULES, "explain TCP", opening, answer)
    b = chat(RULES, "and UDP?", opening, summary, question, reply)
    (found,) = breaks(renderer, a, b)
    tokenizer = renderer.tokenizer
    expected = whole(
        tokenizer,
        f"{summary['content']}{END}{USER}explain TCP{END}"
        f"<|im_start|>assistant\nTCP is a protocol.{END}",
    )
    assert (Cause.HISTORY, expected) == (found.cause, found.lost_tokens)
    assert found.where.path_b == "$.messages[2].content"


def test_a_window_that_drops_the_oldest_turns_rewrites_the_history(renderer: Renderer) -> None:
    turns = [
        {"role": role, "content": f"{role} says {n} " * 20}
        for n in range(3)
        for role in ("user", "assistant")
    ]
    a = chat(RULES, "next", *turns)
    b = chat(RULES, "next again", *turns[2:], {"role": "user", "content": "next"}, turns[1])
    (found,) = breaks(renderer, a, b)
    assert found.cause == Cause.HISTORY


def test_documents_in_another_order_regain_by_sorting_and_by_chunk_reuse(
    renderer: Renderer,
) -> None:
    docs = [
        f'<document id="d{n}">' + f"Fact {n} about the product line. " * 12 + "</document>\n"
        for n in range(5)
    ]
    a = chat(RULES, "".join(docs) + "\nWhat is it?")
    b = chat(RULES, "".join(docs[::-1]) + "\nWhat is it?")
    (found,) = breaks(renderer, a, b)
    prompt = renderer.render(b)
    sizes = sum(len(renderer.tokenizer.encode(d)) for d in docs)
    in_front = found.token - _content_start(renderer, b)
    assert found.cause == Cause.DOCUMENTS
    assert len(prompt.tokens) - found.token == found.lost_tokens
    assert sizes - in_front == found.sorted_tokens
    assert round(sizes * 0.85) - in_front == found.chunk_tokens


def test_partly_other_documents_regain_only_the_sorted_front(renderer: Renderer) -> None:
    docs = [
        f'<document id="d{n}">' + f"Fact {n} about the product line. " * 12 + "</document>\n"
        for n in range(5)
    ]
    a = chat(RULES, "".join([docs[3], docs[0], docs[1]]) + "\nWhat is it?")
    b = chat(RULES, "".join([docs[0], docs[1], docs[4]]) + "\nAnd now?")
    # sorted by id: d0 d1 d3 and d0 d1 d4
    found = breaks(renderer, a, b)
    assert [f for f in found if f.cause is Cause.DOCUMENTS] == []  # d0 before d1 in both
    c = chat(RULES, "".join([docs[4], docs[1], docs[0]]) + "\nAnd now?")
    (found_c,) = breaks(renderer, a, c)
    front = sum(len(renderer.tokenizer.encode(d)) for d in docs[:2])
    shared = found_c.token - _content_start(renderer, c)
    assert (Cause.DOCUMENTS, front - shared) == (found_c.cause, found_c.lost_tokens)


def test_another_question_is_no_cause(renderer: Renderer) -> None:
    assert breaks(renderer, chat(), chat(RULES, "What are your opening hours?"), least=16) == []


def test_two_conversations_of_one_template_do_not_rewrite_each_other(renderer: Renderer) -> None:
    def talk(topic: str) -> dict[str, Any]:
        return chat(
            RULES,
            f"more about {topic}",
            {"role": "user", "content": f"tell me of {topic} " * 30},
            {"role": "assistant", "content": f"{topic} is a thing " * 30},
        )

    assert breaks(renderer, talk("rivers"), talk("engines"), least=16) == []


def test_the_default_system_message_parts_the_prompts_at_its_first_other_token(
    tokenizer: Tokenizer,
) -> None:
    """One client sends no system message, so the chat template puts in its own."""
    default = "You are a helpful assistant."
    renderer = Renderer(tokenizer, default_system=default)
    without, other = chat(None), chat("You are a helpful pirate.")
    a, b = renderer.render(without), renderer.render(other)
    spelled_a = tokenizer.encode_markup(f"<|im_start|>system\n{default}{END}{USER}{QUESTION}{END}")
    spelled_b = tokenizer.encode_markup(
        f"<|im_start|>system\nYou are a helpful pirate.{END}{USER}{QUESTION}{END}"
    )
    expected = next(n for n, (x, y) in enumerate(zip(spelled_a, spelled_b, strict=False)) if x != y)
    found = first_difference(a, b)
    assert found is not None
    assert expected == found.token
    around = neighbourhood(a, b, found, tokenizer)
    assert around.path_a == DEFAULT_SYSTEM_PATH
    assert around.path_b == "$.messages[0].content"
    assert int(spelled_a[expected]) == around.token_a
    assert [f.cause for f in breaks(renderer, without, other)] == [Cause.SYSTEM_MISSING]


def test_sending_the_default_system_message_oneself_changes_nothing(tokenizer: Tokenizer) -> None:
    renderer = Renderer(tokenizer, default_system="You are a helpful assistant.")
    a, b = chat(None), chat("You are a helpful assistant.")
    assert first_difference(renderer.render(a), renderer.render(b)) is None


def test_a_user_who_writes_a_control_token_gets_no_control_token(renderer: Renderer) -> None:
    control = int(renderer.tokenizer.encode_markup("<|im_end|>")[0])
    prompt = renderer.render("<|im_end|>")
    assert control not in prompt.tokens.tolist()
    assert renderer.tokenizer.decode(prompt.tokens) == "<|im_end|>"


texts = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=60
)


@given(texts, texts, texts)
def test_what_two_prompts_share_is_really_equal_and_what_follows_is_not(
    renderer: Renderer, system: str, one: str, other: str
) -> None:
    a, b = (renderer.render(chat(system, question)) for question in (one, other))
    shared = shared_tokens(a, b)
    assert a.tokens[:shared].tolist() == b.tokens[:shared].tolist()
    if shared < min(len(a.tokens), len(b.tokens)):
        assert a.tokens[shared] != b.tokens[shared]


@given(texts, texts, st.lists(texts, max_size=3))
def test_no_cause_ever_costs_more_than_the_prompt_has(
    renderer: Renderer, one: str, other: str, earlier: list[str]
) -> None:
    turns = [{"role": "user", "content": text} for text in earlier]
    a, b = chat(one, other, *turns), chat(other, one, *turns[::-1])
    for found in breaks(renderer, a, b):
        assert 0 < found.lost_tokens <= len(renderer.render(b).tokens)


def _content_start(renderer: Renderer, request: dict[str, Any]) -> int:
    prompt = renderer.render(request)
    at = next(n for n, s in enumerate(prompt.segments) if s.role == "user" and not s.is_markup)
    return prompt.starts[at]
