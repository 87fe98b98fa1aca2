"""Text to token ids: by a tokenizer file that the user names, else by the bundled vocabulary.

The bundled one is OpenAI's o200k_base, byte-level and lossless. For models with another vocabulary
counts are approximate (block counts too); what repeats and where two prompts part stays right.
"""

from __future__ import annotations

import lzma
from collections import OrderedDict
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as _Engine

Tokens = npt.NDArray[np.uint32]
"""Token ids, shape (n,)."""

BUNDLED = "o200k_base"
_MAX_REMEMBERED_TOKENS = 4_000_000  # 16 MB of ids


class TokenizerUnusable(ValueError):
    """The named file is no `tokenizers` JSON file."""


class Tokenizer:
    """Encodes and decodes; remembers texts it has seen lately, since prompts of one log share most
    of theirs."""

    def __init__(self, engine: _Engine, name: str) -> None:
        engine.no_padding()
        engine.no_truncation()
        # a user who writes <|im_start|> must not get the control token of that name
        engine.encode_special_tokens = True
        self._engine = engine
        self._remembered: OrderedDict[tuple[bool, str], Tokens] = OrderedDict()
        self._remembered_tokens = 0
        self.name = name
        self.is_approximate = name == BUNDLED

    def encode(self, text: str) -> Tokens:
        """Ids of a text that a caller wrote."""
        return self._encode(text, is_markup=False)

    def encode_markup(self, text: str) -> Tokens:
        """Ids of a text that a chat template wrote: names of control tokens become those tokens."""
        return self._encode(text, is_markup=True)

    def decode(self, tokens: Tokens) -> str:
        """The text of some ids; bytes that make no whole character show as U+FFFD."""
        return self._engine.decode(tokens.tolist(), skip_special_tokens=False)

    def _encode(self, text: str, *, is_markup: bool) -> Tokens:
        key = (is_markup, text)
        known = self._remembered.get(key)
        if known is not None:
            self._remembered.move_to_end(key)
            return known
        if is_markup:
            self._engine.encode_special_tokens = False
        try:
            ids = self._engine.encode(text, add_special_tokens=False).ids
        finally:
            self._engine.encode_special_tokens = True
        tokens = np.array(ids, np.uint32)
        tokens.setflags(write=False)
        self._remembered[key] = tokens
        self._remembered_tokens += len(tokens) + len(text)
        while self._remembered_tokens > _MAX_REMEMBERED_TOKENS:
            (_, old_text), old = self._remembered.popitem(last=False)
            self._remembered_tokens -= len(old) + len(old_text)
        return tokens


def load_tokenizer(path: Path | None = None) -> Tokenizer:
    """The tokenizer in a `tokenizers` JSON file, or the bundled one. Raises TokenizerUnusable."""
    if path is None:
        packed = files("evaluation.audit").joinpath("data", f"{BUNDLED}.json.xz").read_bytes()
        return Tokenizer(_Engine.from_str(lzma.decompress(packed).decode()), BUNDLED)
    try:
        return Tokenizer(_Engine.from_str(path.read_text("utf-8")), path.name)
    except OSError as error:
        raise TokenizerUnusable(f"{path}: {error.strerror}") from error
    except Exception as error:  # the engine raises bare Exception for a file it cannot read
        raise TokenizerUnusable(f"{path}: not a tokenizers JSON file ({error})") from error
