"""Prints the jars that Maven finds for some coordinates, with those that they need, and the SHA-256 of each: one a line, as code.

    python tools/pins.py org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 --beside-spark

`--beside-spark` leaves out jars that Spark's own folder has in any version. Needs `mvn`.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headrace.jvm.compile import spark_jars

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>pins</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""


def found(coordinates: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the coordinate and the digest of each jar."""
    with tempfile.TemporaryDirectory() as work:
        wanted = "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(*one.split(":"))
            for one in coordinates
        )
        (Path(work) / "pom.xml").write_text(_POM.format(wanted), encoding="utf-8")
        settings = [f"-DoutputDirectory={work}/jars", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
        subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", *settings], cwd=work, stdout=subprocess.DEVNULL, check=True)
        for jar in sorted((Path(work) / "jars").rglob("*.jar")):
            version, artifact, *group = reversed(jar.parent.relative_to(Path(work) / "jars").parts)
            if jar.name != f"{artifact}-{version}.jar":
                raise SystemExit(f"{jar.name} has a classifier, which a coordinate here cannot say")
            yield f"{'.'.join(reversed(group))}:{artifact}:{version}", hashlib.sha256(jar.read_bytes()).hexdigest()


def in_spark() -> set[str]:
    """Return the names of the artifacts that Spark has."""
    return {re.sub(r"-\d[^/]*\.jar$", "", jar.name) for jar in spark_jars().glob("*.jar")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coordinate", nargs="+")
    parser.add_argument("--beside-spark", action="store_true")
    asked = parser.parse_args()
    without = in_spark() if asked.beside_spark else set()
    for coordinate, digest in found(asked.coordinate):
        if coordinate.split(":")[1] not in without:
            print(f'Jar("{coordinate}", "{digest}"),')
