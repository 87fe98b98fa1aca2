"""What one would write in an afternoon: a FastAPI route, `SentenceTransformer.encode`, a comparison with every vector.

No key, no check that an entry still lives, no guards, no log: the least that a semantic cache can be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI
from sentence_transformers import SentenceTransformer

THRESHOLD = 0.9


def create(model_folder: Path, vectors_file: Path, answer: dict[str, Any]) -> FastAPI:
    """The application over a matrix of vectors, all with one answer."""
    torch.set_num_threads(1)
    model = SentenceTransformer(str(model_folder), device="cpu")
    vectors = np.load(vectors_file)
    app = FastAPI()

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/v1/lookup")
    def lookup(body: dict[str, Any]) -> dict[str, Any]:
        text = body["request"]["messages"][-1]["content"]
        vector = model.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
        scores = vectors @ vector
        best = int(scores.argmax())
        if scores[best] < THRESHOLD:
            return {"outcome": "miss"}
        return {"outcome": "hit", "tier": "semantic", "response": answer}

    return app


if __name__ == "__main__":
    uvicorn.run(
        create(Path(sys.argv[2]), Path(sys.argv[3]), {"text": "x" * 1880}),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        access_log=False,
    )
