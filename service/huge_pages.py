"""Memory in pages of 2 MB (Linux): what a request touches is spread over many small pages, and finding them costs.

In a virtual machine a page that the processor has forgotten is looked up in two tables of four levels each: reading
from memory took 460 ns with pages of 4 kB and 190 ns with those of 2 MB, and a service that waits for requests has
forgotten most pages by the next one. An exact hit costs a fifth less processor time so (DECISIONS.md). The kernel is
asked to put together what is there already (`MADV_COLLAPSE`, Linux 6.1), and where it cannot, to do so in its own time;
it may refuse, and nothing depends on it.

Reference: madvise(2); Basu et al. (2013), Efficient Virtual Memory for Big Memory Servers.
"""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_HUGEPAGE, _COLLAPSE = 14, 25
_SIZE = 2 << 20
_FIRST_S, _AGAIN_S = 3.0, 60.0
"""After the models are loaded, as a rule; then for what has been taken since."""
_MAPS = Path("/proc/self/maps")
_PRIVATE_DATA = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ [0-9a-f:]+ 0 *(?!\[stack)(?:\[heap\]|\[anon.*\])?$"
)


def keep() -> None:
    """Collapse this process's memory soon, and what is new every minute, in a thread that ends with the process."""
    if sys.platform == "linux":
        threading.Thread(target=_keep, name="huge-pages", daemon=True).start()


def _keep() -> None:
    time.sleep(_FIRST_S)
    while True:
        collapse()
        time.sleep(_AGAIN_S)


def collapse() -> int:
    """Put private data into huge pages; bytes that are in such pages now, 0 where the system knows none."""
    try:
        lines = _MAPS.read_text().splitlines()
        madvise = ctypes.CDLL(None, use_errno=True).madvise
    except (OSError, AttributeError):
        return 0
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    collapsed = 0
    for start, end in whole_pages(lines):
        madvise(start, end - start, _HUGEPAGE)
        if madvise(start, end - start, _COLLAPSE) == 0:
            collapsed += end - start
    return collapsed


def whole_pages(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The ranges of huge pages that lie within private data that comes from no file, of lines of `/proc/PID/maps`."""
    for line in lines:
        found = _PRIVATE_DATA.match(line)
        if found:
            start = -(-int(found[1], 16) // _SIZE) * _SIZE
            end = int(found[2], 16) // _SIZE * _SIZE
            if start < end:
                yield start, end
