"""Demo traffic: made-up questions with rewordings and look-alikes, sent to a running service over HTTP.

Nothing is written into the database behind the service's back: what one sees is what the service did.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import httpx2

ROUNDS = 3
TRY_LINE = "try-it"


@dataclass
class Told:
    """What came of the traffic, per line."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)

    def summary(self) -> str:
        """One row per line: the layers side by side."""
        rows = []
        for line, n in self.outcomes.items():
            missed = sum(count for name, count in n.items() if name not in ("exact", "semantic"))
            rows.append(
                f"  {line:12} {sum(n.values()):4} lookups: {n['exact']} exact hits, {n['semantic']} "
                f"semantic hits, {missed} misses ({n['guarded']} look-alikes refused by a guard)"
            )
        return "\n".join(rows)


def load() -> list[dict[str, Any]]:
    """The lines with their topics: question, answer, paraphrases, look-alikes."""
    text = resources.files("service.demo").joinpath("traffic.json").read_text(encoding="utf-8")
    lines: list[dict[str, Any]] = json.loads(text)["lines"]
    return lines


def send(base_url: str, *, headers: dict[str, str] | None = None, seed: int = 7) -> Told:
    """Create the demo's lines and play its traffic; what each lookup came to. An earlier demo is forgotten first."""
    told = Told()
    with httpx2.Client(base_url=base_url, headers=headers, timeout=60) as http:
        settings = {"mode": "serve", "threshold": 0.86, "language": "en", "reason": "demo"}
        http.put(f"/v1/lines/{TRY_LINE}", json=settings).raise_for_status()
        _forget(http, line=TRY_LINE)
        for line in load():
            name = line["line"]
            http.put(
                f"/v1/lines/{name}", json=line["settings"] | {"reason": "demo"}
            ).raise_for_status()
            _forget(http, line=name, tag="demo")
            told.outcomes[name] = Counter()
            _wait_for_model(http)
            for question, answer in _requests(line, random.Random(seed)):  # noqa: S311 - a demo
                told.outcomes[name][_ask(http, name, question, answer)] += 1
    return told


def _requests(line: dict[str, Any], rng: random.Random) -> list[tuple[str, str]]:
    """Questions in the order in which users might send them: known ones come back, in other words."""
    asked = []
    for number in range(ROUNDS):
        for topic in line["topics"]:
            asked.append((topic["question"], topic["answer"]))
            asked += [
                (text, topic["answer"]) for text in topic["paraphrases"] if rng.random() < 0.8
            ]
            if number:
                asked += [(text, f"(another answer, to «{text}»)") for text in topic["lookalikes"]]
    first, rest = asked[: len(line["topics"])], asked[len(line["topics"]) :]
    rng.shuffle(rest)
    return first + rest


def _ask(http: httpx2.Client, line: str, question: str, answer: str) -> str:
    request = {
        "model": "demo-model",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "You are the help desk of a project tool."},
            {"role": "user", "content": question},
        ],
    }
    found = (
        http.post("/v1/lookup", json={"line": line, "request": request}).raise_for_status().json()
    )
    if found["outcome"] == "hit":
        return str(found["tier"])
    body = {"lookup_id": found["lookup_id"], "response": {"answer": answer}, "tags": ["demo"]}
    http.post("/v1/store", json=body).raise_for_status()
    return str(found["reason"])


def _forget(http: httpx2.Client, **which: str) -> None:
    """So that the same traffic comes to the same each time."""
    http.post("/v1/invalidate", json=which).raise_for_status()


def _wait_for_model(http: httpx2.Client) -> None:
    """The first start builds the model files, which takes seconds."""
    import time

    for _ in range(600):
        if http.get("/readyz").json()["semantic"] != "loading":
            return
        time.sleep(0.1)
