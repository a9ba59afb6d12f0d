"""Conformance checks for connectors, built-in and third-party: `check_sink` and `check_source`, called from a test."""

from headrace.testing.conformance.report import Line, NotConforming, Report
from headrace.testing.conformance.sink import check_sink
from headrace.testing.conformance.source import Feed, check_source

__all__ = ["Feed", "Line", "NotConforming", "Report", "check_sink", "check_source"]
