"""The package as users get it: built, installed where there is nothing of this repository, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.errors import CODES
from headrace.jvm.compile import SOURCES, kernel, kernel_jar

ROOT = Path(__file__).resolve().parents[2]


def call(command: Sequence[str | Path], folder: Path, *, code: int = 0, **environment: str) -> str:
    surroundings = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", env={**surroundings, **environment}, timeout=900, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what is in the repository, so that nothing else can get into it and the tree stays as it is."""
    kernel_jar()
    copy = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    call([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(copy / "dist")], copy)
    (made,) = (copy / "dist").glob("*.whl")
    return made


def first_program() -> str:
    block = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert block is not None
    return block[1]


def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        described = archive.read(metadata).decode()
        loaded = archive.read("headrace/jvm/jar/classes.txt").decode().splitlines()
    folder = metadata.rpartition("/")[0]
    scala = {f"headrace/kernel/{file.relative_to(SOURCES).as_posix()}" for file in SOURCES.rglob("*.scala")}
    # those for another Spark than the one that is installed here, too
    assert {f"headrace/kernel/{name}" for name, _ in kernel().sources} < scala
    expected = {
        "headrace/py.typed",
        "headrace/ops/read.pyi",
        *(f"headrace/error_pages/{code}.md" for code in CODES),
        *(f"headrace/pages/{name}.md" for name in ("reference/settings", "reference/cli", "connectors/kafka", "cookbook/top-k")),
        "headrace/jvm/log4j2.properties",
        "headrace/samples/charges/1.json",
        f"headrace/jvm/jar/{kernel().jar_name}",
        f"{folder}/licenses/LICENSE",
        f"{folder}/licenses/NOTICE",
    }
    assert sorted((expected | scala) - names) == []
    assert {name.split("/")[0] for name in names} == {"headrace", folder}
    # what a first job loads, and nothing that it makes while it runs
    assert {"headrace.run.Kernel$", "org.apache.spark.sql.classic.SparkSession"} <= set(loaded)
    assert [name for name in loaded if not re.fullmatch(r"(?!java)[\w.$-]+", name) or "Lambda" in name] == []
    assert "Requires-Dist: pyspark<4.4,>=4.2" in described
    assert "License-Expression: Apache-2.0" in described


def use(python: Path, folder: Path) -> None:
    """Version, doctor and the first program, from an empty cache: nothing is compiled."""
    command = python.with_name("headrace")
    cache = str(folder / "cache")
    assert call([command, "--version"], folder, HEADRACE_CACHE=cache) == "headrace 0.1.0\n"
    assert call([command, "error", "NO_WATERMARK"], folder).startswith("# NO_WATERMARK\n")
    assert call([command, "docs", "settings"], folder).startswith("# Settings\n")
    assert "came with the package" in call([command, "doctor"], folder, HEADRACE_CACHE=cache)
    (folder / "first.py").write_text(first_program(), encoding="utf-8")
    output = call([python, "-W", "ignore", "first.py"], folder, HEADRACE_CACHE=cache)
    assert "c17   677.75" in output
    assert "building the kernel" not in output


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; this one lends it the dependencies, half a gigabyte that need not be copied."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    call([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], folder)
    own = Path(call([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip())
    # A path added like this is searched, but the .pth files in it are not read: this repository stays out.
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    where = call([python, "-c", "import headrace; print(headrace.__file__)"], folder).strip()
    assert Path(where).is_relative_to(own)
    return python


@pytest.mark.full
def test_installed_beside_its_dependencies(installed: Path, tmp_path: Path) -> None:
    use(installed, tmp_path)


TYPED = """\
import headrace as hr
charges = hr.read.files("in", format="json", schema="a int", name="charges")
reveal_type(charges)
reveal_type(charges.write.files("out", format="json"))
reveal_type(hr.lookup.files("names", format="json", schema="a int"))
reveal_type(hr.read.of_another_package("x"))
reveal_type(hr.job("copy", charges.write.console(rows=5)))
hr.read.files("in", fmt="json")
charges.write.jdbc("jdbc:sqlite:x", 5)
charges.write.redis("redis://localhost", keys="a")
"""

SEEN = """\
3: note: Revealed type is "headrace.ops.stream.Stream"
4: note: Revealed type is "headrace.ops.write.Sink"
5: note: Revealed type is "headrace.ops.tables.Table"
6: note: Revealed type is "headrace.ops.stream.Stream"
7: note: Revealed type is "headrace.engine.job.Job"
8: error: Unexpected keyword argument "fmt" for "files" of "Read"
8: note: "files" defined in "headrace.ops.read"
9: error: Argument 2 to "jdbc" of "Write" has incompatible type "int"; expected "str"
10: error: Unexpected keyword argument "keys" for "redis" of "Write"; did you mean "key"?
10: note: "redis" defined in "headrace.ops.write"
"""


def test_type_checkers_know_connectors(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(TYPED, encoding="utf-8")
    # Spark itself is large, and not what is looked at.
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n[mypy-pyspark.*]\nfollow_imports = skip\n", encoding="utf-8")
    output = call([installed, "-m", "mypy", "job.py"], tmp_path, code=1)
    lines = re.sub(r"  \[[a-z-]+\]$", "", output, flags=re.M).splitlines()
    assert [line.removeprefix("job.py:") for line in lines if line.startswith("job.py:")] == SEEN.splitlines(), output


@pytest.mark.full
def test_installed_with_what_it_asks_for(wheel: Path, tmp_path: Path) -> None:
    """Everything from the registry, as a user does it; a Java too, if this machine has none."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    java = "" if os.environ.get("JAVA_HOME") or shutil.which("java") else "[java]"
    call([python, "-m", "pip", "install", "--quiet", f"headrace{java} @ {wheel.as_uri()}"], tmp_path)
    use(python, tmp_path)
