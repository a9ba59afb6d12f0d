"""The place of a Delta table: for deltalake, which reads and writes its log, and for Spark, which reads and writes its Parquet files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.connectors.lake import place as lake
from headrace.connectors.lake.stores import Options, hadoop, options_of, revealed
from headrace.errors import ConnectorError
from headrace.masking import masked_problem
from headrace.ports import Packages, paths
from headrace.ports.options import path_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

NEEDS = Packages(modules=("deltalake", "pyarrow"), extra="delta", name="delta")


@dataclass(frozen=True)
class Place:
    """A table's path or address, and the options of its store."""

    path: str
    storage: Options

    @property
    def name(self) -> str:
        return self.path

    @property
    def folder(self) -> str:
        """The name of its folder, the default name of a source or lookup."""
        parts = [part for part in re.split(r"[/\\]", self.path) if part and not part.startswith(".")]
        return parts[-1] if parts else "delta"

    @property
    def uri(self) -> str:
        """The address for deltalake. A relative path starts in the folder in which the job runs."""
        local = paths.local(self.path)
        return self.path.rstrip("/") if local is None else str(local)

    @property
    def local(self) -> bool:
        """Whether it is on this machine's file system."""
        return paths.local(self.path) is not None

    @property
    def hadoop(self) -> str:
        """The address for Spark."""
        local = paths.local(self.path)
        return hadoop(self.uri) if local is None else paths.literal(local)

    def file(self, path: str) -> str:
        """A file in the table's log, as Spark takes it."""
        name = unquote(path)
        return name if re.match(r"\w[\w+.-]*:", name) else f"{self.hadoop}/{name}"

    def table(self, version: int | None = None) -> DeltaTable:
        """The present table, or the table at a version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            return DeltaTable(self.uri, version=version, storage_options=self.options())
        except TableNotFoundError:
            raise lake.missing(f"there is no Delta table at {self.path}") from None
        except Exception as problem:
            raise self.unreadable(problem) from masked_problem(problem)

    def exists(self) -> bool:
        from deltalake import DeltaTable

        try:
            return bool(DeltaTable.is_deltatable(self.uri, storage_options=self.options()))
        except Exception as problem:
            raise self.unreadable(problem) from masked_problem(problem)

    def files(self) -> Any:
        """The table's folder as a pyarrow file system."""
        from pyarrow import fs

        local = paths.local(self.path)
        if local is not None:
            return fs.SubTreeFileSystem(str(local), fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.uri, self.options()))

    def unreadable(self, problem: Exception) -> ConnectorError:
        hint = "check the path, and for an object store its address and storage_options"
        return lake.unreadable(self, problem, hint)

    def options(self) -> dict[str, str] | None:
        """The options of the store for deltalake, with the secrets themselves."""
        return revealed(self.storage) or None


def storage_of(verb: str, option: str, argument: Any) -> Options:
    """The options of a store that a user gave."""
    return options_of(verb, option, argument, '{"AWS_REGION": "eu-north-1"}')


def place(verb: str, path: Any, storage: Mapping[str, Any] | None) -> Place:
    """The place that a user gave."""
    return Place(path_of(verb, path, "out/charges"), storage_of(verb, "storage_options", storage))
