"""Folders on any file system of Hadoop: `s3a://`, `gs://`, `hdfs://`, and whatever else the session has a class for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import ConnectorError, here
from headrace.jvm.compile import spark_jars
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Store:
    """Small texts in a folder, by their relative names, and the names of its files."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self._java: Any = self._call(lambda: jvm(session).headrace.store.Store(java_session(session), self.folder))

    def exists(self, name: str = "") -> bool:
        return bool(self._call(lambda: self._java.exists(name)))

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""
        text: str | None = self._call(lambda: self._java.read(name))
        return text

    def create(self, name: str, text: str) -> bool:
        """Make a file unless it exists; returns whether it was made."""
        return bool(self._call(lambda: self._java.create(name, text)))

    def write(self, name: str, text: str) -> None:
        """Write a file, replacing an existing one."""
        self._call(lambda: self._java.write(name, text))

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with everything in it."""
        self._call(lambda: self._java.delete(name))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none if it does not exist."""
        return list(self._call(lambda: self._java.names(folder)))

    def all(self) -> list[str]:
        """Return all files in the folder and below, by their relative names."""
        return list(self._call(self._java.all))

    def _call(self, call: Callable[[], T]) -> T:
        """Return the result of a call; errors of the file system become ours."""
        try:
            return call()
        except Exception as problem:
            java = getattr(problem, "java_exception", None)
            if java is None:
                raise
            scheme, text = self.folder.partition("://")[0], str(java.toString())
            if lacking(text) is not None or "ClassNotFoundException" in text or "NoClassDefFoundError" in text:
                raise ConnectorError(
                    "UNKNOWN_FILE_SYSTEM",
                    f"the session has no file system for {scheme}://, where {self.folder} is",
                    hint=cure(scheme),
                    site=here(),
                ) from None
            raise ConnectorError(
                "STORE_FAILED",
                f"{self.folder} cannot be used: {store_message(str(java.getMessage() or java.getClass().getSimpleName()))}",
                hint="pass the settings of the file system (address, credentials) to the session as spark.hadoop.*",
                site=here(),
                cause=problem,
            ) from None


def hadoop_version() -> str:
    """Return the version of Hadoop in Spark: jars of file systems must match it."""
    names = (jar.stem.removeprefix("hadoop-client-api-") for jar in spark_jars().glob("hadoop-client-api-*.jar"))
    return next(names, "VERSION")


def lacking(problem: str) -> str | None:
    """Return the scheme for which a session has no file system, if that is Java's problem.

    >>> lacking('No FileSystem for scheme "gs"'), lacking("Class org.apache.hadoop.fs.s3a.S3AFileSystem not found")
    ('gs', 's3a')
    >>> lacking("AccessDeniedException: s3a://bucket")
    """
    match = _LACKING.search(problem)
    return None if match is None else match[1] or _PACKAGES.get(match[2], match[2])


def cure(scheme: str) -> str:
    """Return the way to give a session a file system.

    >>> cure("gs").replace(hadoop_version(), "3.5.0")
    'add its jar to the session: hr.session(conf={"spark.jars.packages": "org.apache.hadoop:hadoop-gcp:3.5.0"})'
    """
    if scheme == "s3":
        return "write s3a://, Hadoop's name for S3: headrace then adds what it needs"
    jar = _JARS.get(scheme)
    conf = '"spark.jars": "the-jar.jar"' if jar is None else f'"spark.jars.packages": "org.apache.hadoop:{jar}:{hadoop_version()}"'
    return f"add its jar to the session: hr.session(conf={{{conf}}})"


def store_message(message: str) -> str:
    """Return the message of a store, without the names of Java's classes and without repetition.

    >>> store_message("getFileStatus on s3a://b/x: software.amazon.S3Exception: Not so (Service: S3, Status Code: 403):403: Not so")
    'Not so'
    """
    first = message.splitlines()[0]
    text = re.split(r" \((?:Service: |SDK Attempt)", first)[0]
    return first if text == first else text.rpartition("Exception: ")[2]


_JARS = {"s3a": "hadoop-aws", "abfs": "hadoop-azure", "abfss": "hadoop-azure", "gs": "hadoop-gcp"}
_LACKING = re.compile(r'No FileSystem for scheme "?([\w.+-]+)|Class \S+\.fs\.(\w+)\.\w*FileSystem not found')
# The names of Java packages that differ from their schemes.
_PACKAGES = {"azurebfs": "abfss"}
