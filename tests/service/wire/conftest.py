"""A fake upstream and a recorder in front of it, over loopback, for the official clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import anthropic
import httpx2
import openai
import pytest

from service.fake_upstream import create_app, running
from tests.service.wire.recorder import recorder


@dataclass(frozen=True)
class Place:
    """An address, and official clients that talk to it without retries."""

    url: str

    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="sk-test", max_retries=0)

    def async_openai(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="sk-test", max_retries=0)

    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.url, api_key="sk-test", max_retries=0)

    def async_anthropic(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(base_url=self.url, api_key="sk-test", max_retries=0)

    def get(self, path: str):
        with httpx2.Client(base_url=self.url) as client:
            return client.get(path).raise_for_status().json()


@pytest.fixture(scope="module")
def direct() -> Iterator[Place]:
    """The fake upstream."""
    with running(create_app()) as url:
        yield Place(url)


@pytest.fixture(scope="module")
def cached(direct: Place) -> Iterator[Place]:
    """The recorder in front of the fake upstream."""
    with running(recorder(direct.url)) as url:
        yield Place(url)


@pytest.fixture
def upstream_calls(direct: Place):
    """How often the upstream has been asked since the test began."""
    before = direct.get("/__calls")["total"]
    return lambda: direct.get("/__calls")["total"] - before
