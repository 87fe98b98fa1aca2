"""C-116 and C-117, the direct store: failed and unfinished answers are refused with a reason.

The proxy's parts (503 and 400 passed through, a client that goes away, an upstream that stops in the middle of a
stream) are in test_c116_errors_are_not_stored.py and test_c117_cut_streams.py.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import running

CUT: dict[str, Any] = {
    "choices": [{"message": {"role": "assistant", "content": "half"}, "finish_reason": "length"}]
}
BAD = {
    "c117_length": (CUT, "length"),
    "c117_bare_finish_reason": ({"text": "half", "finish_reason": "length"}, "length"),
    "c117_max_tokens": (
        {
            "type": "message",
            "content": [{"type": "text", "text": "h"}],
            "stop_reason": "max_tokens",
        },
        "max_tokens",
    ),
    "c117_incomplete": ({"object": "response", "status": "incomplete"}, "incomplete"),
    "c116_error_body": ({"error": {"message": "overloaded", "code": 503}}, "error"),
    "c116_anthropic_error": ({"type": "error", "error": {"type": "overloaded_error"}}, "error"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
async def test_c116_c117_bad_answer_is_refused_by_the_direct_store(
    sqlite_url: str, tmp_path: Path, case: str
) -> None:
    """422 that names the reason, by request and by lookup id; nothing is served afterwards."""
    answer, word = BAD[case]
    async with running(sqlite_url, tmp_path) as client:
        miss = await client.lookup("q")
        for body in ({"line": "faq", "prompt": "q"}, {"lookup_id": miss["lookup_id"]}):
            reply = await client.call("POST", "/v1/store", body | {"response": answer})
            assert (reply.status_code, reply.json()["code"]) == (422, "not-storable")
            assert word in reply.json()["detail"]
        assert (await client.lookup("q"))["outcome"] == "miss"
        # the same lookup may still bring the complete answer
        good = await client.call(
            "POST", "/v1/store", {"lookup_id": miss["lookup_id"], "response": {"text": "whole"}}
        )
        assert good.status_code == 201
        assert (await client.lookup("q"))["response"] == {"text": "whole"}
