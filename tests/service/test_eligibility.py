"""Requests that must not be reused by meaning, and how-to questions that may."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.eligibility import ALL, RULES, check_patterns, classify


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("volatile", "What's the weather in Oslo?"),
        ("volatile", "Who won the match yesterday?"),
        ("volatile", "latest news about the merger"),
        ("volatile", "What time is it?"),
        ("volatile", "今天上海天气怎么样？"),
        ("volatile", "最新的汇率是多少？"),
        ("personal", "What is my account balance?"),
        ("personal", "Where is my order?"),
        ("personal", "How many vacation days do I have left?"),
        ("personal", "show me my recent transactions"),
        ("personal", "我的余额是多少？"),
        ("personal", "我还有多少年假？"),
        ("acting", "Cancel my order, please."),
        ("acting", "Can you book a table for two?"),
        ("acting", "set an alarm for 7"),
        ("acting", "turn off the lights"),
        ("acting", "帮我取消订单"),
        ("acting", "提醒我给妈妈打电话"),
        ("creative", "Write a poem about rain"),
        ("creative", "tell me a joke"),
        ("creative", "Surprise me!"),
        ("creative", "讲个笑话"),
        ("creative", "写一首关于秋天的诗"),
        ("blank", " \n\t"),
    ],
)
def test_a_request_bound_to_moment_asker_act_or_whim_is_held_back(reason: str, text: str) -> None:
    """The reason is named, and so are the words seen."""
    found = classify(text)
    assert found is not None
    assert found.reason == reason
    assert found.detail


@pytest.mark.parametrize(
    "text",
    [
        "How do I reset my password?",
        "How can I cancel my order?",
        "What is the procedure to change my address?",
        "Why was my card declined?",
        "What is the capital of Peru?",
        "How do I enable audit logging for a workspace?",
        "Convert 350 grams of flour to cups.",
        "Where can I see my invoices?",
        "What does the current directory mean in a shell?",
        "Explain photosynthesis",
        "怎么重置我的密码？",
        "如何取消订单？",
        "退款一般多久到账？",
        "什么是光合作用？",
    ],
)
def test_a_question_with_one_answer_for_all_stays_eligible(text: str) -> None:
    """How-to questions and facts are reused although they name accounts and acts."""
    assert classify(text) is None


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_switched_off_holds_nothing_back(rule: str) -> None:
    """Each rule can be switched by name."""
    texts = {
        "volatile": "What's the weather in Oslo?",
        "personal": "What is my account balance?",
        "acting": "Cancel my order, please.",
        "creative": "Tell me a joke",
    }
    assert classify(texts[rule], enabled=ALL - {rule}) is None


def test_own_patterns_of_a_line_hold_back_too() -> None:
    """A line's own words count under the rule they were given for, while that rule is on."""
    extra = {"volatile": [r"\bon call\b"]}
    check_patterns(extra)
    found = classify("Who is on call?", extra=extra)
    assert found is not None
    assert (found.reason, found.detail) == ("volatile", "on call")
    assert classify("Who is on call?", enabled=ALL - {"volatile"}, extra=extra) is None


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"weekly": ["x"]}, "unknown rule 'weekly'"),
        ({"volatile": ["("]}, "no valid pattern"),
        ({"volatile": ["x" * 201]}, "201 characters"),
        ({"volatile": ["x"] * 51}, "51 patterns"),
        ({"volatile": ["x*"]}, "matches the empty text"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_reason(
    patterns: dict[str, list[str]], message: str
) -> None:
    """The message names the rule and what is wrong."""
    with pytest.raises(ValueError, match=message):
        check_patterns(patterns)


def test_a_pattern_that_runs_away_holds_the_request_back_in_time() -> None:
    """A catastrophic pattern costs milliseconds, and counts as a match."""
    start = time.perf_counter()
    found = classify("x" * 5_000, extra={"acting": [r"(x+x+)+y"]})
    assert found is not None
    assert found.reason == "acting"
    assert time.perf_counter() - start < 10.0  # without a limit: years


def test_the_middle_of_a_long_text_is_material_not_request() -> None:
    """Only the ends of a long text are looked at: pasted matter may speak of today."""
    filler = "The parties agree on the terms laid down in the annex. " * 20
    assert classify(f"Summarise this contract. {filler} Payment is due today. {filler}") is None
    assert classify(f"{filler} {filler} What is the weather today?") is not None


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_classified_without_error(text: str) -> None:
    """No text breaks the rules, and the reason is always a known one."""
    found = classify(text)
    assert found is None or found.reason in {*RULES, "blank"}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            "my the a you please and 1 点 明天 在 的 我 帮我 请 what is to x , ! '".split()
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["", " "]),
)
def test_no_repetition_makes_the_rules_slow(words: list[str], joint: str) -> None:
    """600 characters of any few words cost milliseconds: no rule backtracks without bound."""
    text = (joint.join(words) + joint) * 600
    start = time.process_time()
    classify(f"{text[:599]}x")
    assert time.process_time() - start < 0.2


@pytest.mark.parametrize(
    ("heading", "order"),
    [
        ("Replace the filter", "replace the alarm on my list"),
        ("Restart the compressor", "cancel the order"),
        ("Adjust the tracking of the blade", "adjust the thermostat"),
        ("Close the inlet valve", "close the garage door"),
    ],
)
def test_a_heading_of_a_help_page_is_no_order(heading: str, order: str) -> None:
    assert classify(heading) is None
    refused = classify(order)
    assert refused is not None
    assert refused.reason == "acting"


@pytest.mark.parametrize(
    ("title", "order"),
    [
        ("重置密码", "帮我重置密码"),
        ("关闭通知", "请帮我关闭通知"),
        ("取消订单", "帮我取消订单"),
        ("修改收货地址", "把收货地址改成公司"),
        ("重启服务器", "把服务器重启一下"),
        ("冻结银行卡", "立即冻结我的银行卡"),
        ("退款", "马上给我退款"),
        ("开通会员", "给我开通会员"),
    ],
)
def test_a_chinese_verb_and_its_object_alone_are_typed_into_a_search_field(
    title: str, order: str
) -> None:
    """What is asked is how; an order says for whom, when, which, or begins with 请 or 把."""
    assert classify(title) is None
    refused = classify(order)
    assert refused is not None
    assert refused.reason == "acting"


@pytest.mark.parametrize("text", ["打开空调", "关灯", "取消闹钟", "删除明天的会议", "播放音乐"])
def test_an_order_to_a_device_or_an_assistant_needs_no_politeness(text: str) -> None:
    refused = classify(text)
    assert refused is not None
    assert refused.reason == "acting"


@pytest.mark.parametrize(
    ("personal", "general"),
    [
        ("我叔叔的电话是多少", "招商银行的客服电话是多少"),
        ("陈老师的办公室电话", "大使馆的联系方式"),
        ("奶奶的生日是哪天", "鲁迅的生日是哪天"),
    ],
)
def test_how_to_reach_somebody_is_personal_and_an_institution_is_not(
    personal: str, general: str
) -> None:
    found = classify(personal)
    assert found is not None
    assert found.reason == "personal"
    assert classify(general) is None


@pytest.mark.parametrize(
    ("personal", "general"),
    [
        ("What's our team's storage limit?", "What's our refund policy?"),
        ("How much of our budget is spent?", "What is our dress code?"),
        ("how many seats does our workspace have left", "how many members can our team have"),
        ("When does our subscription renew?", "how does our subscription work"),
        ("who is our account manager", "what are our company values"),
        ("What are my team's deadlines?", "where can I find our invoices"),
        ("which plan is our company on", "how is our quota calculated"),
    ],
)
def test_what_a_team_has_is_personal_and_its_rules_are_not(personal: str, general: str) -> None:
    found = classify(personal)
    assert found is not None
    assert found.reason == "personal"
    assert classify(general) is None


@pytest.mark.parametrize(
    ("order", "general"),
    [
        ("remove all of my photos", "What happens to all my photos if I leave?"),
        ("wipe all my data", "How do I wipe all my data?"),
        ("Delete all my records", "delete all my records in MySQL"),
        ("erase my browsing history", "Delete all files in a directory"),
        ("purge our backups", "remove duplicates from my list in python"),
        ("delete the files I uploaded", "remove my first column"),
        ("export all my contacts", "is it safe to delete all my files"),
        ("Delete all files in my drive", "does closing my account delete all my data"),
    ],
)
def test_doing_away_with_what_one_has_is_an_order_and_code_is_not(order: str, general: str) -> None:
    found = classify(order)
    assert found is not None
    assert found.reason == "acting"
    assert classify(general) is None
