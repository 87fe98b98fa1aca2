"""An embeddings endpoint in OpenAI's form, which LiteLLM's semantic cache asks for vectors:
`python embeddings_server.py PORT MODEL_FOLDER`."""

from __future__ import annotations

import base64
import sys
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class Texts(BaseModel):
    """One text or several."""

    input: str | list[str]
    model: str
    encoding_format: str = "float"


port, model_folder = sys.argv[1:]
model = SentenceTransformer(model_folder, device="cpu")
app = FastAPI()


@app.get("/healthz")
def healthz() -> dict[str, str]:
    """Loaded."""
    return {"status": "ok"}


@app.post("/v1/embeddings")
def embeddings(body: Texts) -> dict[str, Any]:
    """Unit vectors, as numbers or base64."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    data = [
        {"object": "embedding", "index": at, "embedding": _written(vector, body.encoding_format)}
        for at, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "data": data, "model": body.model, "usage": usage}


def _written(vector: Any, encoding_format: str) -> str | list[float]:
    if encoding_format == "base64":
        return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
    return [float(value) for value in vector]


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)
