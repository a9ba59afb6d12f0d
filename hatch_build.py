"""Puts the documentation into the wheel, and two files for the Spark that is installed at build time: the kernel's jar, and the list of the
classes that a first job needs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # works on the sources; the jar comes from the cache
        docs = Path(self.root, "docs")
        build_data["force_include"][str(docs / "errors")] = "headrace/error_pages"
        sys.path.insert(0, str(Path(self.root, "src")))
        try:
            from headrace.cli.pages import SECTIONS
            from headrace.errors import HeadraceError
            from headrace.jvm import compile as kernel
        finally:
            sys.path.pop(0)
        for page in (page for section in SECTIONS for page in docs.glob(f"{section}/*.md")):
            build_data["force_include"][str(page)] = f"headrace/pages/{page.relative_to(docs)}"
        try:
            built = kernel.kernel_jar()
        except ImportError as problem:
            raise SystemExit(
                f"the wheel holds a jar that is compiled against Spark: install {kernel.REQUIREMENT} first ({problem})"
            ) from problem
        except HeadraceError as problem:
            raise SystemExit(f"the wheel holds a jar, and that cannot be built here.\n{problem}") from problem
        shutil.rmtree(kernel.SHIPPED, ignore_errors=True)
        kernel.SHIPPED.mkdir()
        shutil.copy(built, kernel.SHIPPED / built.name)
        classes(Path(self.root, "src"), kernel.CLASSES)
        # The repository does not have it, so it must be named.
        build_data["artifacts"].append(f"/{kernel.SHIPPED.relative_to(self.root).as_posix()}/*")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(Path(self.root, "src", "headrace", "jvm", "jar"), ignore_errors=True)


FIRST_JOB = """
import sys
import headrace as hr

hr.session(conf={"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={sys.argv[1]}"})
charges = hr.read.memory([("a", 1), ("b", 2)], "card string, amount int", name="charges")
hr.collect(charges.group_by("card").agg(n="count(*)", total="sum(amount)")).rows()
"""
# Without Java's own classes, which it has in an archive, and those that are generated while a job runs.
LOADED = re.compile(r"\[class,load *\] (?!java|jdk\.|sun\.|com\.sun\.|\S*(?:0x|Lambda|Generated(?:Class|Method)))(\S+) source: ")


def classes(source: Path, target: Path) -> None:
    """Write the names of the classes that a small job loads, in the order of loading."""
    with tempfile.TemporaryDirectory(prefix="headrace-classes-") as folder:
        log = Path(folder, "loaded.log")
        surroundings = {**os.environ, "PYTHONPATH": str(source), "HEADRACE_CACHE": folder, "HEADRACE_PREPARE": "never"}
        done = subprocess.run(
            [sys.executable, "-c", FIRST_JOB, str(log)], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"the wheel lists the classes of a small job, and that does not run here.\n{done.stderr}")
        names = LOADED.findall(log.read_text(encoding="utf-8", errors="replace"))
    target.write_text("\n".join(dict.fromkeys(names)) + "\n", encoding="utf-8")
