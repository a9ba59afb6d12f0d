package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType

/** The end of the order that a function reads. `skipsNulls`: nulls do not count. */
private[aggregate] final case class End(isFirst: Boolean, skipsNulls: Boolean)

/** Least, greatest, first or last of one argument: an end of its multiset. */
private[aggregate] final class Ends(end: End, set: Multiset, dataType: DataType) extends Reader {
  override def result(): Any = {
    val there = if (!end.isFirst) set.last() else if (end.skipsNulls) set.firstNotNull() else set.first()
    if (!there || set.row.isNullAt(0)) null else InternalRow.copyValue(set.row.get(0, dataType))
  }
}

/** The value that goes with the least or greatest ordering; the greatest value, if several do. Orderings are the multiset's first column.
  */
private[aggregate] final class EndsBy(isFirst: Boolean, set: Multiset, ordering: Arguments, dataType: DataType) extends Reader {
  override def result(): Any =
    if (!(if (isFirst) set.firstNotNull() else set.last()) || set.row.isNullAt(0)) null
    else {
      if (isFirst) set.lastOfFirstColumn(ordering)
      if (set.row.isNullAt(1)) null else InternalRow.copyValue(set.row.get(1, dataType))
    }
}
