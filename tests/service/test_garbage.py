"""Full rounds of the garbage collector do not look at what is loaded for good."""

import subprocess
import sys
from pathlib import Path

SERVED = """
import gc, sys, threading
import uvicorn
from pathlib import Path
from service import garbage, serving
from service.settings import Settings

garbage._LOADED_S = 0.05
looked_at = []

def served(*_, **__):
    looked_at.append(len(gc.get_objects()))
    since = [[n] for n in range(50_000)]  # as models that are loaded
    next(t for t in threading.enumerate() if isinstance(t, threading.Timer)).join()
    looked_at.append(len(gc.get_objects()))

uvicorn.run = served
serving.run(Settings(data_dir=Path(sys.argv[1])))
print(*looked_at, gc.get_freeze_count(), gc.get_threshold()[2])
"""


def test_what_is_loaded_is_set_aside_before_and_after_the_start(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", SERVED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    at_start, later, frozen, full_after = map(int, found.stdout.split())
    assert at_start < 5_000
    assert later < 5_000  # the 50,000 are not among them
    assert frozen > 150_000
    assert full_after == 100
