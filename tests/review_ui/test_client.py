"""The routes as functions: what goes out, and how refusals read."""

from __future__ import annotations

import httpx2
import pytest

from review_ui.client import Client, ServiceError
from tests.review_ui.conftest import free_port


def client_of(answer: httpx2.Response, seen: list[httpx2.Request], key: str = "") -> Client:
    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return answer

    http = httpx2.Client(base_url="http://test", transport=httpx2.MockTransport(handle))
    return Client(http, key)


def test_the_key_goes_with_every_call_and_names_are_quoted() -> None:
    seen: list[httpx2.Request] = []
    client_of(httpx2.Response(200, json={"lines": []}), seen, "sh_1").lines()
    client_of(httpx2.Response(200, json={}), seen, "sh_1").line("a/b ?")
    assert [r.headers["authorization"] for r in seen] == ["Bearer sh_1"] * 2
    assert seen[1].url.raw_path == b"/v1/lines/a%2Fb%20%3F"


def test_a_problem_document_reads_as_a_sentence() -> None:
    problem = {
        "type": "urn:surehit:problem:invalid-request",
        "title": "Invalid request",
        "status": 422,
        "detail": "2 fields are refused",
        "errors": [{"field": "threshold", "message": "must be at most 1"}],
    }
    with pytest.raises(ServiceError) as caught:
        client_of(httpx2.Response(422, json=problem), []).lines()
    assert caught.value.status == 422
    assert str(caught.value) == "Invalid request: 2 fields are refused; threshold must be at most 1"


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"[]", b"", b'{"title": 7}'])
def test_an_error_of_a_proxy_in_between_is_told_by_its_status(body: bytes) -> None:
    with pytest.raises(ServiceError, match="502"):
        client_of(httpx2.Response(502, content=body), []).lines()


@pytest.mark.parametrize("body", [b"not json", b'{"remaining": 1}', b'{"item": {"item_id": 3}}'])
def test_a_reply_of_another_form_is_an_error_and_not_a_crash(body: bytes) -> None:
    with pytest.raises(ServiceError, match="form"):
        client_of(httpx2.Response(200, content=body), []).next_item("faq", "Ann")


def test_a_service_that_is_down_is_said_to_be_down() -> None:
    http = httpx2.Client(base_url=f"http://127.0.0.1:{free_port()}", trust_env=False)
    with http, pytest.raises(ServiceError, match="does not answer") as caught:
        Client(http).lines()
    assert caught.value.status == 0
