"""The shape of the code: import directions, package names, and what the README must name."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from service.decision import MissReason
from service.settings import Settings

ROOT = Path(__file__).parents[1]
OURS = ("service", "index", "evaluation", "review_ui", "migrations", "tests")


def test_imports_point_one_way() -> None:
    """The contracts of pyproject.toml hold."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout


def test_no_dependency_takes_a_name_of_ours() -> None:
    """A later release may bring a top-level `service` unseen."""
    owners = importlib.metadata.packages_distributions()
    for name in OURS:
        assert set(owners.get(name, [])) <= {"surehit"}, (name, owners[name])


def test_every_test_folder_is_a_package() -> None:
    """Without `tests/__init__.py`, `tests/index` would stand for `index`."""
    for folder in ROOT.joinpath("tests").rglob("*"):
        if folder.is_dir() and list(folder.glob("test_*.py")):
            assert (folder / "__init__.py").exists(), folder
    assert (ROOT / "tests" / "__init__.py").exists()


@pytest.fixture(scope="module")
def readme() -> str:
    """The README, with what it links to in `docs/`."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    return text + "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("docs/**/*.md"))


def test_every_setting_is_in_the_readme(readme: str) -> None:
    names = [f"SUREHIT_{name.upper()}" for name in Settings.model_fields]
    assert [name for name in names if name not in readme] == []


def test_every_miss_reason_is_in_the_readme(readme: str) -> None:
    assert [reason for reason in MissReason if f"`{reason}`" not in readme] == []


def test_every_setting_says_what_it_is() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name
