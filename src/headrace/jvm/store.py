"""Folders on any file system that Hadoop knows: `s3a://`, `gs://`, `hdfs://`, whatever the session has a class for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import ConnectorError, here
from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Store:
    """Small texts in a folder, by names relative to it, and the names of its files."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self._java: Any = self._told(lambda: jvm(session).headrace.store.Store(session._jsparkSession, self.folder))

    def exists(self, name: str = "") -> bool:
        return bool(self._told(lambda: self._java.exists(name)))

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none."""
        found: str | None = self._told(lambda: self._java.read(name))
        return found

    def create(self, name: str, text: str) -> bool:
        """Make a file unless there is one; whether it was made."""
        return bool(self._told(lambda: self._java.create(name, text)))

    def write(self, name: str, text: str) -> None:
        """Make a file in the place of the one there is."""
        self._told(lambda: self._java.write(name, text))

    def delete(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self._told(lambda: self._java.delete(name))

    def names(self, folder: str) -> list[str]:
        """What is in a folder; nothing where there is none."""
        return list(self._told(lambda: self._java.names(folder)))

    def all(self) -> list[str]:
        """All files below, with the folders between as part of their names."""
        return list(self._told(self._java.all))

    def _told(self, call: Callable[[], T]) -> T:
        """What a call gives; what the file system complains of as an error of ours."""
        try:
            return call()
        except Exception as problem:
            java = getattr(problem, "java_exception", None)
            if java is None:
                raise
            said = str(java.getMessage() or java.getClass().getSimpleName()).splitlines()[0]
            scheme = self.folder.partition("://")[0]
            if "No FileSystem for scheme" in said or "ClassNotFoundException" in str(java.toString()):
                raise ConnectorError(
                    "UNKNOWN_FILE_SYSTEM",
                    f"the session has no file system for {scheme}://, where {self.folder} is",
                    hint=f"give the session its jar, of the Hadoop that Spark has: {_jar(scheme)}",
                    site=here(),
                ) from None
            raise ConnectorError(
                "STORE_FAILED",
                f"{self.folder} cannot be used: {said}",
                hint="the settings of a file system are given to the session as spark.hadoop.*: its address and who may use it",
                site=here(),
                cause=problem,
            ) from None


def _jar(scheme: str) -> str:
    known = {"s3a": "org.apache.hadoop:hadoop-aws", "s3": "org.apache.hadoop:hadoop-aws, and write s3a://", "abfss": "hadoop-azure"}
    named = known.get(scheme)
    return f'hr.session(conf={{"spark.jars": ...}}) with {named}' if named else 'hr.session(conf={"spark.jars": "the-jar.jar"})'
