"""Puts the documentation into the wheel, and the kernel's jar, built for the Spark that is installed where the wheel is built."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # works on the sources; the jar comes from the cache
        docs = Path(self.root, "docs")
        build_data["force_include"][str(docs / "errors")] = "headrace/error_pages"
        for page in (*docs.glob("*.md"), *docs.glob("connectors/*.md"), *docs.glob("cookbook/*.md")):
            build_data["force_include"][str(page)] = f"headrace/pages/{page.relative_to(docs)}"
        sys.path.insert(0, str(Path(self.root, "src")))
        try:
            from headrace.errors import HeadraceError
            from headrace.jvm import compile as kernel
        finally:
            sys.path.pop(0)
        try:
            built = kernel.kernel_jar()
        except ImportError as problem:
            raise SystemExit(f"the wheel holds a jar that is compiled against Spark: install pyspark==4.3.* first ({problem})") from problem
        except HeadraceError as problem:
            raise SystemExit(f"the wheel holds a jar, and that cannot be built here.\n{problem}") from problem
        shutil.rmtree(kernel.SHIPPED, ignore_errors=True)
        kernel.SHIPPED.mkdir()
        shutil.copy(built, kernel.SHIPPED / built.name)
        # Not part of the repository, so it has to be named.
        build_data["artifacts"].append(f"/{(kernel.SHIPPED / built.name).relative_to(self.root).as_posix()}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(Path(self.root, "src", "headrace", "jvm", "jar"), ignore_errors=True)
