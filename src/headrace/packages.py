"""What a connector needs beside Spark and headrace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Jar:
    """One jar of a Maven repository: `group:artifact:version`, and the SHA-256 of its bytes in hexadecimal digits."""

    coordinate: str
    sha256: str

    @property
    def path(self) -> str:
        """Where it lies below a repository's address.

        >>> Jar("org.postgresql:postgresql:42.7.14", "").path
        'org/postgresql/postgresql/42.7.14/postgresql-42.7.14.jar'
        """
        group, artifact, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"


@dataclass(frozen=True)
class Packages:
    """What a connector needs: jars (all of them, so that nothing is looked up), Scala of its own that is compiled against Spark, the kernel
    and these jars once, and Python modules with the extra of headrace that brings them: `pip install "headrace[delta]"`.

    `name` is what it is called in `headrace packages add NAME`; the module of a connector lists all that it may need in `PACKAGES`.
    """

    jars: tuple[Jar, ...] = ()
    scala: Path | None = None
    modules: tuple[str, ...] = ()
    extra: str = ""
    name: str = ""
