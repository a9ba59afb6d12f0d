"""The packages that connectors need beside Spark: found on this machine, and added to a running session."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.jvm import fetch
from headrace.jvm.compile import Unit, built, kernel, kernel_jar, sources
from headrace.jvm.session import to_driver
from headrace.packages import Packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = 4
_lock = threading.Lock()
_driver: set[Path] = set()
_executors: set[tuple[str, Path]] = set()
"""The jars added to the class loader of the driver, which outlives a session, and to the executors of an application."""


def attach(spark: SparkSession, packages: Iterable[Packages]) -> None:
    """Add the jars and the compiled Scala of connectors to the driver and the executors of a running session.

    Missing jars are fetched if the session allows that, and Scala is built.
    """
    for one in packages:
        jars = provide(one, fetching=fetch.allowed())
        with _lock:
            for jar in jars:
                if jar not in _driver:
                    to_driver(spark, jar)
                    _driver.add(jar)
                application = str(spark.sparkContext.applicationId)
                if (application, jar) not in _executors:
                    spark.sparkContext._jsc.addJar(str(jar))
                    _executors.add((application, jar))


def require(packages: Packages, *, fetching: bool) -> None:
    """Raise PACKAGE_MISSING for a missing Python package, and for missing jars that may not be fetched."""
    for module in packages.modules:
        if not installed(module):
            raise HeadraceError(
                "PACKAGE_MISSING",
                f"{packages.name or 'a connector'} needs the Python package {module.partition('.')[0]}, which is not installed",
                hint=f'pip install "headrace[{packages.extra}]"' if packages.extra else f"pip install {module.partition('.')[0]}",
            )
    missing = [] if fetching else [jar.coordinate for jar in packages.jars if not fetch.there(jar)]
    if missing:
        raise HeadraceError(
            "PACKAGE_MISSING",
            f"{packages.name or 'a connector'} needs {_listed(missing)}, but this session may not fetch packages",
            hint=f'`headrace packages add {packages.name}` fetches them once; hr.session(packages="auto") lets jobs do it',
        )


def provide(packages: Packages, *, fetching: bool = True) -> list[Path]:
    """Return the jars of some packages, with that of their Scala last; fetched and built if necessary."""
    require(packages, fetching=fetching)
    jars = fetch.fetch(packages.jars)
    if packages.scala is None:
        return jars
    return [*jars, built(unit(packages))]


def unit(packages: Packages) -> Unit:
    """Return the Scala of some packages and what it is compiled against: Spark, the kernel and their jars."""
    if packages.scala is None:
        raise ValueError(f"{packages.name} has no Scala")
    against = [(kernel().key, kernel_jar()), *((jar.sha256, fetch.place(jar)) for jar in packages.jars)]
    return Unit(kernel().spark, sources(packages.scala, kernel().spark), packages.name or "connector", tuple(against))


def installed(module: str) -> bool:
    """Return whether a Python module is installed; does not import it.

    >>> installed("json.decoder"), installed("no.such.module")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _listed(coordinates: list[str]) -> str:
    more = len(coordinates) - _SHOWN
    return ", ".join(coordinates[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
