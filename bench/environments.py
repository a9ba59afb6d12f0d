"""Separate interpreters for contenders that are Python packages, made at first use. headrace does not depend on them."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

CACHE = Path(".headrace/bench").absolute()


def python(*packages: str, only_binary: bool = True) -> Path:
    """Return the interpreter with these packages, made now if necessary. Raises CalledProcessError if they cannot be installed."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = CACHE / f"venv-{version}-{'-'.join(packages).replace('==', '-')}"
    executable, done = folder / "bin/python", folder / "installed"
    if not done.is_file():
        venv.create(folder, clear=True, with_pip=True)
        binary = ["--only-binary", ":all:"] if only_binary else []
        subprocess.run([str(executable), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *binary, *packages], check=True)
        done.touch()
    return executable
