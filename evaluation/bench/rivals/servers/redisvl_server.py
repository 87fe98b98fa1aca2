"""redisvl's SemanticCache behind a FastAPI route: `python redisvl_server.py PORT MODEL_FOLDER REDIS_URL`."""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from redisvl.extensions.cache.llm import (  # type: ignore[import-not-found]  # only the peer has it
    SemanticCache,
)
from redisvl.utils.vectorize import (  # type: ignore[import-not-found]  # only the peer has it
    HFTextVectorizer,
)


class Question(BaseModel):
    """What is asked."""

    prompt: str


class Entry(Question):
    """What is kept."""

    response: str


port, model_folder, redis_url = sys.argv[1:]
cache = SemanticCache(
    name="bench",
    distance_threshold=0.1,  # 1 - cosine
    vectorizer=HFTextVectorizer(model=model_folder, device="cpu"),
    redis_url=redis_url,
)
app = FastAPI()


@app.get("/healthz")
def healthz() -> dict[str, str]:
    """Loaded."""
    return {"status": "ok"}


@app.post("/lookup")
def lookup(body: Question) -> dict[str, str]:
    """A hit with its answer, or a miss."""
    found = cache.check(prompt=body.prompt)
    return {"outcome": "hit", "response": found[0]["response"]} if found else {"outcome": "miss"}


@app.post("/store")
def store(body: Entry) -> dict[str, str]:
    """Keep an answer."""
    cache.store(prompt=body.prompt, response=body.response)
    return {"outcome": "stored"}


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)
