"""The metrics of a run in Prometheus's text format. The only module that imports `prometheus_client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from headrace.masking import masked
from headrace.monitor.metrics import METRICS
from headrace.spark.run.snapshot import Snapshot


class RunCollector(Collector):
    """Reads the counts of a run when they are scraped."""

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look

    def collect(self) -> Iterator[Metric]:
        now = self._look()
        for metric in METRICS:
            family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            # the library adds the suffix of counters itself
            values = family(metric.name.removesuffix("_total"), metric.help, labels=("job", *metric.labels))
            for labels, value in metric.read(now):
                values.add_metric([masked(text) for text in (now.summary.job, *labels)], value)
            yield values


class Exposition:
    """The metrics of one run, in a registry of their own."""

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(RunCollector(look))

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics and their content type, in the format that the header `Accept` prefers."""
        encode, kind = choose_encoder(accept)
        return encode(self._registry), kind
