package headrace.operator

import headrace.bind.{Bind, Fault, TextColumns}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, RowOrdering}
import org.apache.spark.sql.types._

/** The columns of an operator's rows, and those of its key. */
final case class OperatorSchema(rows: StructType, key: StructType)

/** The check of one operator of a plan, as its kind sees it. `at` is a place in the plan's description of the operator, such as `order/0`.
  */
trait OperatorCheck {
  def session: SparkSession

  /** Binds a text over these columns; None if it has a fault. */
  def bound(columns: StructType, sql: String, at: String): Option[Expression]

  def condition(columns: StructType, sql: String, at: String): Unit

  def fault(at: String, sql: String, what: Fault.What): Unit

  /** The common type to which Spark casts both. */
  def widest(a: DataType, b: DataType): Option[DataType]

  /** Records, for expressions over these columns, the functions that are not Spark's own and the texts that Spark casts. */
  def notes(columns: StructType, all: Iterable[Expression]): Unit

  /** Records that a text of one side is read as another type, because it meets one of the other side. */
  def meets(sql: String, to: DataType, other: DataType): Unit

  /** Records how much each of these parts keeps of a group. */
  def keeps(parts: Seq[(String, String)]): Unit

  /** The key of groups, one column for each text; reports a fault for each text whose type cannot be a key. */
  final def per(texts: Seq[String], columns: StructType): StructType = StructType(texts.zipWithIndex.flatMap { case (sql, i) =>
    bound(columns, sql, s"per/$i").map { e =>
      if (!OperatorCheck.isKey(e.dataType)) fault(s"per/$i", sql, Fault.keyType("per", e.dataType))
      OperatorCheck.keyColumn(i, Bind.loosen(e.dataType))
    }
  })

  /** The key of two sides, each column in one type for both. */
  final def pairs(texts: Seq[(String, String)], left: StructType, right: StructType): StructType = {
    val sides = texts.zipWithIndex.map { case ((l, r), i) => (bound(left, l, s"keys/$i/0"), bound(right, r, s"keys/$i/1"), i) }
    StructType(sides.collect { case (Some(l), Some(r), i) =>
      val types = Seq(l, r).map(e => Bind.loosen(e.dataType))
      val wide = widest(types.head, types(1))
      if (wide.isEmpty) fault(s"keys/$i", "", Fault.keyTypes(s"key ${i + 1}", types))
      for (both <- wide; ((sql, one), other) <- Seq(texts(i)._1, texts(i)._2).zip(types).zip(types.reverse); to <- TextColumns.met(one, both))
        meets(sql, to, other)
      wide.filterNot(OperatorCheck.isKey).foreach(t => fault(s"keys/$i", "", Fault.keyType(s"key ${i + 1}", t)))
      OperatorCheck.keyColumn(i, wide.getOrElse(types.head))
    })
  }

  final def order(texts: Seq[(String, String, String)], columns: StructType): Unit =
    texts.zipWithIndex.foreach { case ((sql, _, _), i) =>
      bound(columns, sql, s"order/$i").foreach { e =>
        if (!RowOrdering.isOrderable(e.dataType)) fault(s"order/$i", sql, Fault.keyType("order", e.dataType))
      }
    }

  /** Reports a fault for each of these columns whose type cannot be a key. */
  final def keys(columns: Seq[StructField], at: String): Unit =
    columns.filterNot(c => OperatorCheck.isKey(c.dataType)).foreach(c => fault(at, "", Fault.keyType(c.name, c.dataType)))
}

object OperatorCheck {

  /** A column of a key, named by its number: it need not be a column of the rows. */
  def keyColumn(place: Int, dataType: DataType): StructField = StructField(s"key_${place + 1}", dataType)

  /** Can values be told apart by their bytes, once they are normalised? */
  def isKey(dataType: DataType): Boolean = dataType match {
    case m: MapType => isKey(m.keyType) && isKey(m.valueType)
    case s: StructType => s.fields.forall(f => isKey(f.dataType))
    case a: ArrayType => isKey(a.elementType)
    case other => RowOrdering.isOrderable(other)
  }
}
