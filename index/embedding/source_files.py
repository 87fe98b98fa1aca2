"""Where model files come from: inside installed packages, found without importing them, pinned.

Importing would run the package's code, and one of them imports torch. A file whose bytes are not
the ones we measured is refused: a cache that silently compares vectors of another model serves
wrong answers.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from index.types import ModelNotInstalled


@dataclass(frozen=True)
class SourceFile:
    """One file of a package, by its content."""

    distribution: str
    """What ``pip install`` is given."""
    package: str
    """What ``import`` would be given."""
    path: str
    """Inside the package, with forward slashes."""
    sha256: str

    def locate(self) -> Path:
        """The installed file, its content unchecked; raises ModelNotInstalled."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ModelNotInstalled(f"package {self.distribution} is not installed")
        path = Path(spec.submodule_search_locations[0], *self.path.split("/"))
        if not path.is_file():
            raise ModelNotInstalled(f"package {self.distribution} has no file {self.path}")
        return path

    def checked(self) -> Path:
        """The installed file, its bytes compared with the pin; raises ModelNotInstalled."""
        path = self.locate()
        found = sha256_of(path)
        if found != self.sha256:
            raise ModelNotInstalled(
                f"{self.distribution}: {self.path} has sha256 {found}, expected {self.sha256}; "
                "install the pinned version"
            )
        return path

    @property
    def is_installed(self) -> bool:
        """True when the file is there; its content is checked when it is loaded."""
        try:
            self.locate()
        except ModelNotInstalled:
            return False
        return True


def sha256_of(path: Path) -> str:
    """Hex digest of a file's bytes; about 20 ms for 30 MB."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
