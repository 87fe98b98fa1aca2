"""A fake provider as a process of its own, for the bench: `python -m evaluation.bench.upstream PORT SECONDS`."""

from __future__ import annotations

import sys

from service import fake_upstream

if __name__ == "__main__":
    fake_upstream.run("127.0.0.1", int(sys.argv[1]), latency_s=float(sys.argv[2]))
