"""Runs under the interpreter that has Flink: reads requests as lines of JSON, answers each with one, and keeps its JVM warm.

`{"tables": […statements…]}` creates the tables for the next queries. `{"query": text, "sink": {…options…}, "folders": [names]}` runs a
query into a sink and returns its `seconds`, from its text to the end that Flink recorded. `{"count": text}` returns the number of `rows`
of its answer. An answer is `{"error": text}` if Flink refuses or fails.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

# The caller reads standard output; the JVM would write there, too.
ANSWERS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

from pyflink.common import Configuration  # noqa: E402
from pyflink.java_gateway import get_gateway  # noqa: E402
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment  # noqa: E402

JVM = get_gateway().jvm


class Flink:
    """A cluster inside this JVM that stays, so that no query includes its start."""

    def __init__(self, cores: int, settings: dict[str, str]) -> None:
        of_cluster = JVM.org.apache.flink.configuration.Configuration()
        for name, value in {"rest.address": "localhost", "rest.port": "0", "rest.bind-port": "0", **settings}.items():
            of_cluster.setString(name, value)
        builder = JVM.org.apache.flink.runtime.minicluster.MiniClusterConfiguration.Builder()
        builder = builder.setNumTaskManagers(1).setNumSlotsPerTaskManager(cores).setConfiguration(of_cluster)
        self._cluster = JVM.org.apache.flink.runtime.minicluster.MiniCluster(builder.build())
        self._cluster.start()
        address = self._cluster.getRestAddress().get()
        of_tables = Configuration()
        at = {"execution.target": "remote", "rest.address": address.getHost(), "rest.port": str(address.getPort())}
        for name, value in {**settings, **at, "parallelism.default": str(cores), "table.local-time-zone": "UTC"}.items():
            of_tables.set_string(name, value)
        settled = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(of_tables).build()
        self._tables = TableEnvironment.create(settled)

    def make(self, statements: list[str]) -> dict[str, Any]:
        for statement in statements:
            self._tables.execute_sql(statement)
        return {"process": JVM.java.lang.ProcessHandle.current().pid()}

    def run(self, text: str, options: dict[str, str], folders: list[str]) -> dict[str, Any]:
        began = time.time()
        into = TableDescriptor.for_connector(options["connector"])
        for name, value in options.items():
            if name != "connector":
                into = into.option(name, value)
        if folders:
            into = into.partitioned_by(*folders)
        running = self._tables.sql_query(text).execute_insert(into.build())
        running.wait()
        # the client polls for the end and learns of it up to two seconds late
        graph = self._cluster.getArchivedExecutionGraph(running.get_job_client()._j_job_client.getJobID()).get()
        ended = graph.getStatusTimestamp(JVM.org.apache.flink.api.common.JobStatus.FINISHED)
        return {"seconds": ended / 1000 - began}

    def count(self, text: str) -> dict[str, Any]:
        rows = 0
        with self._tables.sql_query(f"SELECT count(*) FROM ({text}) AS answer").execute().collect() as counts:
            for (count,) in counts:
                rows = count
        return {"rows": rows}


def answer(flink: Flink, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if "tables" in request:
            return flink.make(request["tables"])
        if "count" in request:
            return flink.count(request["count"])
        return flink.run(request["query"], request["sink"], request["folders"])
    except Exception as problem:
        return {"error": str(problem)}


if __name__ == "__main__":
    flink = Flink(int(sys.argv[1]), json.loads(sys.argv[2]))
    for line in sys.stdin:
        print(json.dumps(answer(flink, json.loads(line))), file=ANSWERS)
