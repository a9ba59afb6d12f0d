"""What operators can use for their part of a query document: the plan, its checked schemas, and the paths of rows."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.analysis.schemas import Schemas
from headrace.plan import Node, Plan
from headrace.schema import Struct
from headrace.spark.compile.feeds import Feeds
from headrace.spark.compile.times import judged


@dataclass(frozen=True)
class Lowering:
    """A checked plan (`ops.inlet.Checked`), with the paths of its rows."""

    plan: Plan
    schemas: Schemas
    feeds: Feeds

    def schema(self, node: Node) -> Struct:
        return self.schemas.of[str(node.name)]

    def output_schema(self, node: Node, output: str) -> Struct:
        return self.schemas.output(str(node.name), output)

    def key_schema(self, node: Node) -> str:
        return self.schemas.keys[str(node.name)].ddl

    def may_be_late(self, node: Node, name: str, stream: Node, apart: str) -> bool:
        return judged(self.plan, node, name, self.feeds.into(stream), apart)
