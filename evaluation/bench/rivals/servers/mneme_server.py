"""mneme-cache behind a FastAPI route: `python mneme_server.py PORT MODEL_FOLDER DATABASE_FILE`."""

from __future__ import annotations

import sys

import numpy as np
import uvicorn
from fastapi import FastAPI
from mneme import SemanticCache  # type: ignore[import-not-found]  # only the peer has it
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class Embedder:
    """What mneme asks of an embedder."""

    fingerprint = "all-MiniLM-L6-v2"
    dim = 384

    def __init__(self, model_folder: str) -> None:
        self._model = SentenceTransformer(model_folder, device="cpu")

    def embed(self, text: str) -> np.ndarray:
        """The unit vector of a text."""
        return self._model.encode(text, normalize_embeddings=True, show_progress_bar=False)


class Question(BaseModel):
    """What is asked."""

    prompt: str


class Entry(Question):
    """What is kept."""

    response: str


port, model_folder, database_file = sys.argv[1:]
cache = SemanticCache(database_file, Embedder(model_folder), similarity_threshold=0.9)
app = FastAPI()


@app.get("/healthz")
def healthz() -> dict[str, str]:
    """Loaded."""
    return {"status": "ok"}


@app.post("/lookup")
def lookup(body: Question) -> dict[str, str]:
    """A hit with its tier and answer, or a miss."""
    hit = cache.get(body.prompt)
    if hit is None:
        return {"outcome": "miss"}
    return {"outcome": "hit", "tier": hit.layer, "response": hit.response}


@app.post("/store")
def store(body: Entry) -> dict[str, str]:
    """Keep an answer."""
    cache.put(body.prompt, body.response)
    return {"outcome": "stored"}


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)
