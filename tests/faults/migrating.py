"""A migration that is killed: `python -m tests.faults.migrating URL N` ends itself by SIGKILL after N statements."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from sqlalchemy import Engine, event

from service.storage import migrate


def main(url: str, after: int) -> None:
    """Migrate; N = 0 lives on."""
    done = 0

    def executed(*_: Any) -> None:
        nonlocal done
        done += 1
        if done == after:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", executed)
    migrate.upgrade(url)
    sys.stdout.write(str(done))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
