"""State programs: written in Python, traced once, and data from then on."""

from headrace.program.aggregate import Aggregate
from headrace.program.broadcast import Broadcast
from headrace.program.cell import Cell
from headrace.program.control import elsewhen, otherwise, when
from headrace.program.each import each
from headrace.program.kinds import KINDS, CellKind
from headrace.program.list import List
from headrace.program.local import Local, let
from headrace.program.map import Map
from headrace.program.moment import now, watermark
from headrace.program.output import Output, emit
from headrace.program.program import Program
from headrace.program.reject import reject
from headrace.program.statement import Add, Append, Clear, Each, Emit, Let, Read, Reject, Replace, Set, Statement, When, every, inner
from headrace.program.timer import Timer
from headrace.program.traced import Traced, TracedCell, TracedHandler, TracedOutput
from headrace.program.tracing import trace
from headrace.program.value import Value

__all__ = [
    "KINDS",
    "Add",
    "Aggregate",
    "Append",
    "Broadcast",
    "Cell",
    "CellKind",
    "Clear",
    "Each",
    "Emit",
    "Let",
    "List",
    "Local",
    "Map",
    "Output",
    "Program",
    "Read",
    "Reject",
    "Replace",
    "Set",
    "Statement",
    "Timer",
    "Traced",
    "TracedCell",
    "TracedHandler",
    "TracedOutput",
    "Value",
    "When",
    "each",
    "elsewhen",
    "emit",
    "every",
    "inner",
    "let",
    "now",
    "otherwise",
    "reject",
    "trace",
    "watermark",
    "when",
]
