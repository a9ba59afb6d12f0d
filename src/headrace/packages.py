"""The packages that a connector needs beside Spark and headrace."""

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
        """The path of the jar below a repository's address.

        >>> Jar("org.postgresql:postgresql:42.7.14", "").path
        'org/postgresql/postgresql/42.7.14/postgresql-42.7.14.jar'
        """
        group, artifact, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"


@dataclass(frozen=True)
class Packages:
    """The needs of a connector.

    `jars` is complete, so that no dependency is looked up. `scala` is compiled once against Spark, the kernel and these jars. `modules` are
    Python modules, and `extra` is the extra of headrace that installs them: `pip install "headrace[delta]"`. `name` is the name in
    `headrace packages add NAME`. A connector's module lists all its packages in `PACKAGES`.
    """

    jars: tuple[Jar, ...] = ()
    scala: Path | None = None
    modules: tuple[str, ...] = ()
    extra: str = ""
    name: str = ""
