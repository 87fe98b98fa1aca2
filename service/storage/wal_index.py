"""Whether an SQLite database has changed, told by 48 bytes: the header of its WAL index.

Every commit of every process rewrites that header, which all of them have mapped into memory. As long as it is the
same, a row that was read is the row that reading it again would give, and comparing costs a hundredth of reading.
The header holds a counter of transactions, the length of the log and its running checksum and salts, so it doesn't
return to what it was. A commit can be seen by SQLite's own readers only once the first of the header's two copies,
which is written last, is complete: that one is compared, so nothing is missed that a read would have seen.

The mapping is SQLite's own, found in /proc/self/maps (Linux; elsewhere every row is read each time). To open the file a
second time would be a trap: closing it drops all locks that SQLite holds on it in this process (POSIX advisory locks).

Reference: SQLite, WAL-mode File Format, 2.1 "The WAL-Index Header"; fcntl(2).
"""

from __future__ import annotations

import ctypes
import os
import re
import sqlite3
import struct
from pathlib import Path

HEADER_BYTES = 48
_FORMAT = 3_007_000
_BEGINS = struct.Struct("=IIIB")
"""Format, unused, transactions, 1 once initialised."""
_SHARED = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ rw-s 0+ [0-9a-f]+:[0-9a-f]+ \d+ +(.*)$")
_MAPS = Path("/proc/self/maps")


class WalIndex:
    """The header as it is now. Valid while the connection it was found for is open: `close` comes before that one's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Find the mapping of a connection's database; without one, `header` knows nothing."""
        self._memory: ctypes.Array[ctypes.c_char] | None = None
        address = _mapped(connection)
        if address is not None:
            memory = (ctypes.c_char * HEADER_BYTES).from_address(address)
            form, _, _, initialised = _BEGINS.unpack_from(memory.raw)
            if form == _FORMAT and initialised == 1:
                self._memory = memory

    def header(self) -> bytes | None:
        """Another value after each commit; None where it cannot be told."""
        return None if self._memory is None else self._memory.raw

    def close(self) -> None:
        """Let go of SQLite's memory."""
        self._memory = None


def _mapped(connection: sqlite3.Connection) -> int | None:
    """Where this process has the WAL index of the main database."""
    # the file is mapped by the first transaction that reads
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    path = next(row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main")
    try:
        lines = _MAPS.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    file = os.path.realpath(path) + "-shm"
    # a file that was deleted since has another name there: the kernel says so behind it
    found = [int(at[1], 16) for at in map(_SHARED.match, lines) if at and at[2] == file]
    return found[0] if len(found) == 1 else None
