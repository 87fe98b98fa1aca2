"""Two scripts, one reading."""

from __future__ import annotations

import pytest

from service.simplified import simplified


@pytest.mark.parametrize(
    ("traditional", "expected"),
    [
        ("我的會員什麼時候到期？", "我的会员什么时候到期？"),
        ("請問運費多少錢", "请问运费多少钱"),
        ("无需登录", "无需登录"),
        ("How do I reset it? 怎麼辦", "How do I reset it? 怎么办"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_each_character_has_its_simplified_form(traditional: str, expected: str) -> None:
    assert simplified(traditional) == expected
    assert simplified(expected) == expected


def test_length_stays_so_that_places_in_a_text_do() -> None:
    text = "憂鬱的臺灣烏龜，後來裏面乾了" * 3
    assert len(simplified(text)) == len(text)
