"""State programs: written in Python, run once to be traced, and from then on data."""

from headrace.program.cell import Cell
from headrace.program.control import elsewhen, otherwise, when
from headrace.program.output import Output, emit
from headrace.program.program import Program
from headrace.program.statement import Clear, Emit, Read, Set, Statement, When
from headrace.program.timer import Timer
from headrace.program.traced import Traced, TracedCell, TracedHandler, TracedOutput
from headrace.program.tracing import trace
from headrace.program.value import Value

__all__ = [
    "Cell",
    "Clear",
    "Emit",
    "Output",
    "Program",
    "Read",
    "Set",
    "Statement",
    "Timer",
    "Traced",
    "TracedCell",
    "TracedHandler",
    "TracedOutput",
    "Value",
    "When",
    "elsewhen",
    "emit",
    "otherwise",
    "trace",
    "when",
]
