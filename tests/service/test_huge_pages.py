"""Only whole huge pages of this process's own data are asked for, and asking changes no byte."""

from __future__ import annotations

import mmap
import re
import sys
from pathlib import Path

import pytest

from service import huge_pages

_MAPS = """\
55d0c0000000-55d0c0a00000 r-xp 00000000 fe:00 12345                      /usr/bin/python3.11
55d0c1000000-55d0c1800000 rw-p 00000000 fe:00 12345                      /usr/bin/python3.11
55d0c2100000-55d0c2700000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
7f0000500000-7f00006ff000 rw-p 00000000 00:00 0
7f0001000000-7f0001400000 rw-s 00000000 00:01 77                         /dev/zero (deleted)
7f0002000000-7f0002400000 ---p 00000000 00:00 0
7ffc00000000-7ffc00800000 rw-p 00000000 00:00 0                          [stack]
"""


def test_ranges_are_whole_pages_of_private_data() -> None:
    found = [(hex(start), hex(end)) for start, end in huge_pages.whole_pages(_MAPS.splitlines())]
    assert found == [("0x55d0c2200000", "0x55d0c2600000"), ("0x7f0000000000", "0x7f0000400000")]


@pytest.mark.skipif(sys.platform != "linux", reason="huge pages are asked for on Linux only")
def test_memory_is_in_huge_pages_afterwards_and_holds_what_it_held() -> None:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[never]" in setting.read_text():
        pytest.skip("this system has no transparent huge pages")
    pattern = bytes(range(256)) * 4096 * 8
    with mmap.mmap(-1, len(pattern), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(pattern)
        collapsed = huge_pages.collapse()
        assert memory[:] == pattern
        if not collapsed:
            pytest.skip("this kernel puts no pages together when asked (before 6.1)")
        kept = re.search(r"AnonHugePages: +(\d+)", Path("/proc/self/smaps_rollup").read_text())
        assert kept is not None
        assert int(kept[1]) >= 4096
