"""Libraries that embed keep no records of whoever uses them."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from index.embedding import catalog
catalog.load("minilm", Path(sys.argv[1])).embed(["hello"])
"""


def test_embedding_leaves_nothing_in_the_users_folder(models_dir: Path, tmp_path: Path) -> None:
    """ONNX Runtime makes a device id and a queue of events there, which it sends when it can, unless told not to."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))
    }
    subprocess.run(
        [sys.executable, "-c", PROGRAM, models_dir],
        env=environment | {"HOME": str(home)},
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert list(home.rglob("*")) == []
