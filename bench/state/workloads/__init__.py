"""The programs by which contenders are compared, one per file."""

from bench.state.workloads.count import COUNT
from bench.state.workloads.fraud import FRAUD
from bench.state.workloads.list import LIST
from bench.state.workloads.map import MAP
from bench.state.workloads.sessions import SESSIONS
from bench.state.workloads.two import TWO
from bench.state.workloads.workload import Workload

WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in (COUNT, FRAUD, SESSIONS, MAP, LIST, TWO)}
