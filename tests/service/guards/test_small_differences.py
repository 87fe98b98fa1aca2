"""One small word, sign or letter that makes another question, and its harmless neighbours."""

import pytest

from service.guards import judge

REFUSED = {
    "opening": [
        ("What is the night bus?", "Where is the night bus?"),
        ("How can I park?", "Where can I park?"),
        ("When is the regatta?", "What is the regatta?"),
        ("Who is the keeper?", "What is the keeper?"),
        ("How do I get a badge?", "Where do I get a badge?"),
        ("How can I buy parsley?", "Where can I buy parsley?"),
        ("What did the flood cause?", "What caused the flood?"),
    ],
    "letters": [
        ("Can I walk from A to B?", "Can I walk from B to A?"),
        ("Does bundle A contain bundle B?", "Does bundle B contain bundle A?"),
        ("Is A cheaper than B?", "Is B cheaper than A?"),
        ("A to B by ferry", "B to A by ferry"),
    ],
    "subject": [
        ("Which club beat Porto?", "Which club did Porto beat?"),
        ("Who trained Maria?", "Who did Maria train?"),
        ("Who trained Maria?", "Who was trained by Maria?"),
        ("Who pays the landlord?", "Who does the landlord pay?"),
    ],
    "case": [
        ("git tag -d old", "git tag -D old"),
        ("What does \\w match?", "What does \\W match?"),
        ("sort -r file", "sort -R file"),
        ("Where is orderId set?", "Where is orderID set?"),
        ("Is max_size a constant?", "Is MAX_SIZE a constant?"),
        ("Is 20 mW much?", "Is 20 MW much?"),
    ],
    "signs": [
        ("What does n++ return?", "What does ++n return?"),
        ("What is 10^6?", "What is 10^-6?"),
        ("How much is 10⁶ m?", "How much is 10⁻⁶ m?"),
        ("What is 6!?", "What is 6?"),
        ("Calculate 8! / 4", "Calculate 8 / 4"),
    ],
    "modals": [
        ("How often can I renew?", "How often must I renew?"),
        ("How far in advance can we book?", "How far in advance must we book?"),
        ("How many nights may we stay?", "How many nights must we stay?"),
    ],
    "joining": [
        ("Is the pool open at 9?", "Is the pool open until 9?"),
        ("Is the pool open from 9?", "Is the pool open by 9?"),
        ("Do I pay on Friday?", "Do I pay by Friday?"),
    ],
    "each": [
        ("每天能借几本书", "每次能借几本书"),
        ("每月限寄几件", "每人限寄几件"),
    ],
    "parts": [
        ("主卧朝南吗", "次卧朝南吗"),
        ("柜门多高", "柜门多宽"),
        ("维生素饭前吃吗", "维生素饭后吃吗"),
        ("Can I arrive early?", "Can I arrive late?"),
    ],
    "one or all": [
        ("How do I archive a note?", "How do I archive all notes?"),
        ("Write to a member", "Write to all members"),
        ("How do I pardon a player?", "How do I pardon all players?"),
        ("Remove one label", "Remove every label"),
    ],
    "another subject": [
        ("诊所几点关门", "你们公司几点关门"),
        ("换货流程", "给老李打电话"),
        ("食堂在哪里", "你们办公室在哪里"),
    ],
}
KEPT = [
    ("Is the pool open until 9?", "Is the pool open till 9?"),
    ("Who did Maria train?", "Who was trained by Maria?"),
    ("How do I get a copy of my ticket?", "Where can I get a duplicate ticket?"),
    ("Where do I find my ticket?", "How do I find my ticket?"),
    ("When is the deadline?", "What is the deadline?"),
    ("Who's the keeper?", "Who is the keeper?"),
    ("Where can I download the form?", "How do I download the form?"),
    ("When are you open?", "What are your opening hours?"),
    ("Does bundle A contain bundle B?", "Is bundle B contained in bundle A?"),
    ("Can I get A refund?", "Can I get a refund?"),
    ("What is vitamin A for?", "what is vitamin a for"),
    ("Who do I call about a leak?", "Who should I call about a leak?"),
    ("How do I use GIT", "how do i use git"),
    ("HOW DO I UPDATE IOS", "How do I update iOS"),
    ("Where is the FAQ?", "where is the faq"),
    ("Use JavaScript", "use javascript"),
    ("I have 6 boats!", "I have 6 boats"),
    ("git commit --amend", "how do i git commit --amend"),
    ("Are you open on 5 May?", "Are you open 5 May?"),
    ("Is the pool open at 9 on Monday?", "is the pool open on monday at 9"),
    ("Archive all letters", "archive every letter"),
    ("Archive a note", "Archive one note"),
    ("每天能借几本书", "每日可以借几本书"),
    ("你们几点关门", "你们店几点关门"),
    ("营业时间是几点到几点？", "你们几点开门几点关门？"),
]


@pytest.mark.parametrize(("a", "b"), [pair for pairs in REFUSED.values() for pair in pairs])
def test_a_small_difference_is_refused_either_way(a: str, b: str) -> None:
    assert judge(a, b) is not None
    assert judge(b, a) is not None


@pytest.mark.parametrize(("a", "b"), KEPT)
def test_its_harmless_neighbour_is_kept(a: str, b: str) -> None:
    assert judge(a, b) is None
    assert judge(b, a) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("new alarm for six am", "set alarm tomorrow at six am"),
        ("wake me up at seven", "I need an alarm at seven tomorrow"),
        ("do I need an umbrella in Leeds", "will it rain in Leeds tomorrow"),
    ],
)
def test_tomorrow_on_one_side_is_another_day_in_any_wording(a: str, b: str) -> None:
    assert judge(a, b) is not None
    assert judge(b, a) is not None
