"""An index on disk: loading takes half a second where building takes minutes.

A snapshot is a copy of what the rows say, as of a sequence number that the caller gives and gets
back, to replay what came later. It is never the truth: a file that is missing, cut off, of another
embedder, another version or another machine's making is refused whole, and the caller rebuilds.

The file: 8 bytes of magic, the length of a JSON head, the head, the arrays one after the other, and
the sha256 of everything before it. No pickle, so that a planted file can run nothing.
"""

import contextlib
import hashlib
import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from index.adaptive import AdaptiveIndex
from index.types import SnapshotInvalid

FORMAT = 1
"""Raise it when the meaning of a head or an array changes."""

_MAGIC = b"SUREHIT\x00"
_LENGTH = struct.Struct("<Q")
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class Snapshot:
    """What a file held."""

    index: AdaptiveIndex
    sequence: int
    """The caller's number, as given to `save`."""


def save(path: Path, index: AdaptiveIndex, *, fingerprint: str, sequence: int) -> None:
    """Write the index, whole or not at all; the file that was there stays until then.

    Parameters
    ----------
    fingerprint : of the embedder whose vectors these are.
    sequence : everything up to this number must have been added or removed before the call.
    """
    numbers, arrays = index.dump()
    head = {
        "format": FORMAT,
        "hnswlib": version("hnswlib"),
        "byteorder": sys.byteorder,
        "fingerprint": fingerprint,
        "sequence": sequence,
        "numbers": numbers,
        "arrays": [[name, value.dtype.str, list(value.shape)] for name, value in arrays.items()],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            digest = hashlib.sha256()
            for part in _parts(head, arrays):
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def load(path: Path, *, fingerprint: str) -> Snapshot:
    """Read an index back.

    Raises
    ------
    SnapshotInvalid
        Whatever is wrong with the file. Nothing else is raised for its content.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SnapshotInvalid(f"{path.name}: {error.strerror}") from error
    body = memoryview(content)[:-_DIGEST_BYTES]
    if not content.startswith(_MAGIC) or len(body) < len(_MAGIC) + _LENGTH.size:
        raise SnapshotInvalid(f"{path.name}: not a snapshot")
    if hashlib.sha256(body).digest() != content[-_DIGEST_BYTES:]:
        raise SnapshotInvalid(f"{path.name}: damaged or cut off")
    # The bytes are as `save` wrote them; what remains is whether they are meant for us.
    (length,) = _LENGTH.unpack_from(body, len(_MAGIC))
    start = len(_MAGIC) + _LENGTH.size
    head = json.loads(bytes(body[start : start + length]))
    _check(path, head, fingerprint)
    arrays = _arrays(head, body[start + length :])
    return Snapshot(AdaptiveIndex.restore(head["numbers"], arrays), head["sequence"])


def _parts(
    head: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> Iterator[bytes | memoryview]:
    text = json.dumps(head, default=_plain).encode()
    yield _MAGIC + _LENGTH.pack(len(text)) + text
    for value in arrays.values():
        yield np.ascontiguousarray(value).data.cast("B") if value.size else b""


def _plain(number: Any) -> Any:
    """NumPy's numbers as Python's."""
    return number.item()


def _check(path: Path, head: dict[str, Any], fingerprint: str) -> None:
    expected = {
        "format": FORMAT,
        "hnswlib": version("hnswlib"),
        "byteorder": sys.byteorder,
        "fingerprint": fingerprint,
    }
    for name, value in expected.items():
        if head[name] != value:
            raise SnapshotInvalid(f"{path.name}: {name} is {head[name]!r}, expected {value!r}")


def _arrays(head: dict[str, Any], body: memoryview) -> dict[str, npt.NDArray[Any]]:
    arrays = {}
    at = 0
    for name, dtype, shape in head["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(body, dtype, count, at).reshape(shape)
        at += arrays[name].nbytes
    return arrays
