// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.query

import headrace.document._
import headrace.operator._
import headrace.operator.aggregate._
import headrace.operator.join._
import headrace.operator.partition._
import headrace.operator.program._
import headrace.operator.session._

/** The kind of an operator of queries: of `TopText` it is the object `Top`. */
private[query] object RelationalKinds {
  def of(relation: RelationText): Kinds.Of[_] = relation match {
    case text: AggregateText => new Kinds.Of(Aggregate, text)
    case text: AsOfText => new Kinds.Of(AsOf, text)
    case text: ConsolidateText => new Kinds.Of(Consolidate, text)
    case text: HeavyHittersText => new Kinds.Of(HeavyHitters, text)
    case text: JoinText => new Kinds.Of(Join, text)
    case text: LedgerText => new Kinds.Of(Ledger, text)
    case text: PartitionText => new Kinds.Of(Partition, text)
    case text: SessionsText => new Kinds.Of(Sessions, text)
    case text: TemporalText => new Kinds.Of(Temporal, text)
    case text: TopText => new Kinds.Of(Top, text)
    case text: UpsertsText => new Kinds.Of(Upserts, text)
  }
}
