"""Keeps a built model file in a directory: built once, whole or not at all, checked at each load.

Two processes that start together build it once, as the second waits at the lock; where the system
has no such lock both build the same bytes, and the last rename wins. A file whose bytes are not
those of its manifest is built again.
"""

import contextlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from index.embedding.source_files import sha256_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # checked before use

Progress = Callable[[str], None]
"""Receives one line of text per step of a build."""

_log = logging.getLogger(__name__)


def ensure_built(
    name: str,
    models_dir: Path,
    *,
    build: Callable[[], bytes],
    check: Callable[[bytes], str],
    progress: Progress | None = None,
) -> Path:
    """The file ``name`` in ``models_dir``, built if it is not there or damaged.

    Parameters
    ----------
    name : must name the content, i.e. change whenever ``build`` would give another file.
    check : tries the new file before anyone sees it; returns what it found, raises to refuse it.
    """
    path = models_dir / name
    if _is_whole(path):
        return path
    models_dir.mkdir(parents=True, exist_ok=True)
    with _only_one(path.with_suffix(".lock")):
        if _is_whole(path):
            return path
        report = _reporter(progress)
        began = time.perf_counter()
        report(f"building {name} (once)")
        content = build()
        found = check(content)
        _replace(path, content)
        manifest = {"sha256": sha256_of(path), "bytes": len(content), "checked": found}
        _replace(_manifest(path), json.dumps(manifest, indent=1).encode())
        took = time.perf_counter() - began
        report(f"built {name}: {len(content) / 1e6:.0f} MB in {took:.1f} s; {found}")
    return path


def _reporter(progress: Progress | None) -> Progress:
    return progress if progress is not None else lambda line: _log.info("%s", line)


def _manifest(path: Path) -> Path:
    return path.with_suffix(".json")


def _is_whole(path: Path) -> bool:
    """True when the file has the bytes that its manifest names."""
    try:
        manifest = json.loads(_manifest(path).read_bytes())
        return bool(
            path.stat().st_size == manifest["bytes"] and sha256_of(path) == manifest["sha256"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a start after a power cut, sees the old or the new one."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Readable for all, unlike a temporary file: it may be built as root, and used as nobody.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold an advisory lock between processes (and threads: each opens the file for itself)."""
    with lock.open("a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        # Closing the file gives the lock back, also when the process dies.
        yield
