"""Which earlier request is the one that a request should have shared its prefix with.

By preference: the same conversation id, the same first user message (a conversation that goes on),
the same template (head or tail of the system message or bare prompt), the same tools. Never across
tenants or lines. Only the latest requests are remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.audit.prompt import Prompt
from evaluation.audit.records import Record
from evaluation.audit.volatile import mask

REMEMBERED_PROMPTS = 4096
_REMEMBERED_TOKENS = 8_000_000
_TEMPLATE_CHARS = 80  # shorter heads are shared by chance


@dataclass(frozen=True, slots=True)
class Predecessor:
    """An earlier request and whether the present one goes on with its conversation."""

    record: Record
    prompt: Prompt
    same_conversation: bool


class Predecessors:
    """The latest prompts by their conversation and template keys; bounded in number and tokens."""

    def __init__(self) -> None:
        self._latest: OrderedDict[tuple[str, ...], tuple[Record, Prompt]] = OrderedDict()
        self._tokens = 0

    def exchange(self, record: Record, prompt: Prompt) -> Predecessor | None:
        """The predecessor of a request, which is then remembered itself."""
        keys = list(_keys(record, prompt))
        found = None
        for key in keys:
            if key in self._latest:
                earlier, its_prompt = self._latest[key]
                found = Predecessor(earlier, its_prompt, key[0] in ("id", "opening"))
                break
        for key in keys:
            replaced = self._latest.pop(key, None)
            self._tokens += len(prompt.tokens) - (len(replaced[1].tokens) if replaced else 0)
            self._latest[key] = (record, prompt)
        while len(self._latest) > REMEMBERED_PROMPTS or self._tokens > _REMEMBERED_TOKENS:
            _, (_, dropped) = self._latest.popitem(last=False)
            self._tokens -= len(dropped.tokens)
        return found


def _keys(record: Record, prompt: Prompt) -> Iterator[tuple[str, ...]]:
    owner = (record.tenant, record.line)
    if record.conversation is not None:
        yield ("id", *owner, record.conversation)
    turns = [s for s in prompt.segments if s.part == "messages" and not s.is_markup]
    opening = next((s.text for s in turns if s.role == "user"), None)
    is_bare = len(prompt.segments) == 1
    if opening is not None and not is_bare:
        yield ("opening", *owner, mask(opening))
    fixed = "".join(s.text for s in prompt.segments if s.part == "system" and not s.is_markup)
    template = fixed or (opening if len(turns) == 1 and opening else "")
    if len(template) >= _TEMPLATE_CHARS or fixed:
        masked = mask(template)
        yield ("head", *owner, masked[:_TEMPLATE_CHARS])
        yield ("tail", *owner, masked[-_TEMPLATE_CHARS:])
    if any(s.part == "tools" for s in prompt.segments):
        yield ("tools", *owner)
