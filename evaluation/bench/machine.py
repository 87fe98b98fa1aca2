"""What figures were measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Processor, cores, load when the run began, Python, day."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
        "day": datetime.now(UTC).date().isoformat(),
    }


def sentence(found: dict[str, Any]) -> str:
    """The machine of a run, for the line above its table."""
    m = found["machine"]
    load = "" if m.get("load") is None else f", load {m['load']:.1f} at its start"
    return f"{m['cores']} cores ({m['cpu']}), Python {m['python']}, {m['day']}{load}"
