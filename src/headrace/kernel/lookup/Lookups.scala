package headrace.lookup

import scala.collection.mutable

import headrace.task.{Carried, Pool}
import headrace.wire.Wire
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.Work

/** One round of lookups: processes the rows for its lookups and passes on all others.
  *
  * `tables` exist in the driver only; their content is fixed when an epoch begins. `constant` are the lookups whose results never change.
  */
final class Lookups(
    carried: Carried,
    ops: Set[Int],
    constant: Set[Int],
    @transient tables: LoadedTables,
    loaded: Map[Int, Broadcast[Loaded]] = Map.empty)
    extends Work {
  override def name: String = "lookup"
  override def steady: Boolean = ops.forall(op => constant(op) || loaded.contains(op))
  override def begun(): Work = new Lookups(carried, ops, constant, null, tables.now(ops))

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val asking = mutable.LinkedHashMap.empty[Int, Asking]
    def of(op: Int): Asking = asking.getOrElseUpdate(
      op, {
        val asking = Pool.borrow(carried.query, part(op))(new Asking(carried.specs.value.lookup(op)))
        asking.open(partition, loaded.get(op).fold[Answers](Clients.of(carried.query, asking.spec))(_.value))
        asking
      })
    val looked = rows.flatMap { wire =>
      val op = wire.getInt(Wire.Op)
      if (ops.contains(op)) {
        val one = of(op)
        one.take(wire.asInstanceOf[UnsafeRow])
        one.sent
      } else Iterator.single(wire)
    }
    looked ++ asking.iterator.flatMap { case (op, one) =>
      one.finish()
      one.sent ++ {
        Pool.giveBack(carried.query, part(op), one)
        Iterator.empty
      }
    }
  }

  private def part(op: Int): String = s"lookup $op"
}
