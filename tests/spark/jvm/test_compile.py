"""The kernel's jar: built once, by one of many, or refused with the compiler's words."""

from __future__ import annotations

import functools
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging import requirements

from headrace.jvm import compile as module
from tests.unit.errors import check_error

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Other sources and an empty cache."""
    folder = tmp_path / "scala"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "One.scala").write_text('package one\nobject One { def text = "ü" }\n', encoding="utf-8")
    monkeypatch.setattr(module, "SOURCES", folder)
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "a cäche"))
    # Not the cache of the others: what this process has read first must stay.
    monkeypatch.setattr(module, "kernel", functools.cache(module.kernel.__wrapped__))
    return folder


def test_built_once_and_kept(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jar = module.kernel_jar()
    with zipfile.ZipFile(jar) as archive:
        assert "one/One.class" in archive.namelist()
        assert archive.read(module.KEY_ENTRY).decode() == module.kernel().key
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("headrace: building the kernel for Spark ")
    assert lines[1].startswith(f"headrace: built {jar} in ")
    assert module.kernel_jar() == jar
    assert capsys.readouterr().err == ""


def test_the_shipped_jar_is_used_if_it_fits(sources: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "headrace-kernel-0000000000000000.jar").touch()
    fits = shipped / module.kernel().jar_name
    fits.touch()
    assert module.kernel_jar() == fits


def test_the_key_depends_on_sources_and_spark() -> None:
    base = module.Unit("4.3.0", (("a.scala", b"x"),))
    others = [
        module.Unit("4.3.1", base.sources),
        module.Unit("4.3.0", (("b.scala", b"x"),)),
        module.Unit("4.3.0", (("a.scala", b"y"),)),
    ]
    assert len({kernel.key for kernel in (base, *others)}) == 4
    assert module.Unit("4.3.0", (("a.scala", b"x"),)).key == base.key


def test_sources_of_another_spark_are_left_out(sources: Path) -> None:
    for folder in ("one", "one/spark42", "one/spark43/deep", "sparks"):
        (sources / folder).mkdir(parents=True, exist_ok=True)
        (sources / folder / "Two.scala").touch()
    both = {"one/One.scala", "one/Two.scala", "sparks/Two.scala"}
    assert {name for name, _ in module.sources(sources, "4.2.1")} == {*both, "one/spark42/Two.scala"}
    assert {name for name, _ in module.sources(sources, "4.3.0")} == {*both, "one/spark43/deep/Two.scala"}


def test_every_supported_spark_can_be_installed() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert module.REQUIREMENT in described["project"]["dependencies"]
    allowed = requirements.Requirement(module.REQUIREMENT).specifier
    assert [f"4.{n}" for n in range(10) if allowed.contains(f"4.{n}.0")] == list(module.SUPPORTED)


def test_a_source_that_does_not_compile(sources: Path, tmp_path: Path) -> None:
    (sources / "one" / "One.scala").write_text("package one\nobject One { val x: Int = nonsense }\n", encoding="utf-8")
    check_error(
        """
        KERNEL_BUILD: the kernel for Spark <version> could not be compiled: one/One.scala:2: error: not found: value nonsense
          hint: the compiler's whole output is in <cache>/kernel/headrace-kernel-<key>.log.
                memory, disk and versions are checked by `headrace doctor`.
          more: headrace error KERNEL_BUILD
        """,
        module.kernel_jar,
        hide={str(tmp_path / "a cäche"): "<cache>", module.kernel().key: "<key>", module.spark_version(): "<version>"},
    )
    assert not list((tmp_path / "a cäche" / "kernel").glob("*.jar"))


def test_many_starts_at_once_build_it_once(sources: Path, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from headrace.jvm import compile as module
module.SOURCES, module.SHIPPED = Path({str(sources)!r}), Path({str(tmp_path / "shipped")!r})
print(module.kernel_jar())
"""
    started = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") for _ in range(3)
    ]
    outputs = [process.communicate(timeout=240) for process in started]
    assert {out for out, _ in outputs} == {f"{tmp_path / 'a cäche' / 'kernel' / module.kernel().jar_name}\n"}
    assert sum("building the kernel" in err for _, err in outputs) == 1
    assert not [left for left in (tmp_path / "a cäche" / "kernel").iterdir() if left.name.startswith("build-")]
