package headrace.check

import headrace.bind.{Bind, Declared, Fault, TimeWindows}
import headrace.document._
import headrace.operator.aggregate.Aggregate
import headrace.operator.partition.WindowPlan
import headrace.operator.program.Program
import headrace.route.Delivery
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.expressions.RowOrdering
import org.apache.spark.sql.types._

/** The check of one relational operator: the schema of its rows and that of its key. */
private[check] final class Relations(check: Check, id: String, site: String) {
  type Found = Option[(StructType, StructType)]

  /** `schemas` are those of its inputs. None: faults were found. */
  def of(relation: RelationText, schemas: Seq[StructType]): Found = sound(relation match {
    case text: JoinText => join(text, schemas.head, schemas(1))
    case text: AsOfText => asOf(text, schemas.head, schemas(1))
    case text: AggregateText => aggregate(text, schemas.head)
    case text: PartitionText => partition(text, schemas.head)
    case text: TopText => top(text, schemas.head)
    case text: UpsertsText => upserts(text, schemas.head)
    case text: TemporalText => temporal(text, schemas.head)
    case text: SessionsText => sessions(text, schemas.head)
    case _: HeavyHittersText => heavyHitters(schemas.head)
    case _: LedgerText | _: ConsolidateText => (schemas.head, schemas.head) // of whole rows
  })

  /** Keys that are found by their bytes: under a collation equal ones differ in them. */
  def of(lookup: AskedLookupText, rows: StructType): Found = sound {
    val table = Declared.schema(lookup.table)
    check.distinct(id, site, "table", table.fieldNames.toSeq)
    val keys = sides(lookup.keys, rows, table)
    keys.filterNot(f => isKey(f.dataType)).foreach(f => check.fault(id, site, "keys", "", Fault.keyType(f.name, f.dataType)))
    (StructType(rows.fields ++ lookup.given.map { case (name, column) => table(column).copy(name = name) }), keys)
  }

  private def sound(relation: => (StructType, StructType)): Found = {
    val before = check.count
    val found = relation
    check.distinct(id, site, "columns", found._1.fieldNames.toSeq)
    if (check.count > before) None else Some(found)
  }

  private def join(text: JoinText, left: StructType, right: StructType): (StructType, StructType) = {
    val keys = sides(text.keys, left, right)
    val both = StructType(left.fields ++ right.fields)
    text.condition.foreach(condition(both, _))
    val rows = text.how match {
      case "semi" | "anti" => left
      case "existence" => left.add(text.mark.getOrElse("exists"), BooleanType)
      case _ => both
    }
    (rows, if (keys.isEmpty) Delivery.shardKey else keys)
  }

  private def asOf(text: AsOfText, left: StructType, right: StructType): (StructType, StructType) = {
    Seq(text.time._1 -> left, text.time._2 -> right).zipWithIndex.foreach { case ((sql, from), i) =>
      bound(from, sql, s"time/$i").filter(_.dataType != TimestampType).foreach { e =>
        check.fault(id, site, s"time/$i", sql, Fault.notTime(s"the time of the ${if (i == 0) "left" else "right"} side", e.dataType))
      }
    }
    val shared = text.shared.toSet
    (StructType(left.fields ++ right.fields.filterNot(f => shared(f.name))), sides(text.keys, left, right))
  }

  /** The keys of a join, each in one type for both sides. */
  private def sides(keys: Seq[(String, String)], left: StructType, right: StructType): StructType = {
    val pairs = keys.zipWithIndex.map { case ((l, r), i) => (bound(left, l, s"keys/$i/0"), bound(right, r, s"keys/$i/1"), i) }
    StructType(pairs.collect { case (Some(l), Some(r), i) =>
      val types = Seq(l, r).map(e => Bind.loosen(e.dataType))
      val wide = check.widest(types.head, types(1))
      if (wide.isEmpty) check.fault(id, site, s"keys/$i", "", Fault.keyTypes(s"key ${i + 1}", types))
      StructField(s"key_${i + 1}", wide.getOrElse(types.head))
    })
  }

  private def aggregate(text: AggregateText, from: StructType): (StructType, StructType) = {
    val keys = StructType(text.keys.zipWithIndex.flatMap { case ((name, sql), i) =>
      bound(from, sql, s"keys/$i").map { e =>
        val dataType = Bind.loosen(e.dataType)
        if (!isKey(dataType)) check.fault(id, site, s"keys/$i", sql, Fault.keyType(name, dataType))
        StructField(name, dataType)
      }
    })
    val aggregates = text.aggregates
    val made = Aggregate.bound(check.session, from, aggregates.map(_._2))
    val spelled = keys.zip(text.keys).flatMap { case (key, (_, sql)) => Aggregate.storage(key.dataType).map(sql -> _) }
    check.keeps(id, made.zip(aggregates).collect { case (Right(one), (_, sql)) => sql -> Aggregate.storage(one) } ++ spelled)
    val columns = made.zip(aggregates).zipWithIndex.flatMap {
      case ((Right(one), (name, _)), _) =>
        check.outside(id, one.parts)
        Some(StructField(name, one.dataType))
      case ((Left(e), (_, sql)), i) =>
        check.fault(id, site, s"aggregates/$i", sql, Fault.of(e))
        None
    }
    (StructType(keys.fields ++ columns), keys)
  }

  /** Can values be told apart by their bytes, once they are normalised? */
  private def isKey(dataType: DataType): Boolean = dataType match {
    case m: MapType => isKey(m.keyType) && isKey(m.valueType)
    case s: StructType => s.fields.forall(f => isKey(f.dataType))
    case a: ArrayType => isKey(a.elementType)
    case other => RowOrdering.isOrderable(other)
  }

  private def partition(text: PartitionText, from: StructType): (StructType, StructType) = {
    order(text.order, from)
    val functions = text.functions
    val rows =
      try {
        val plan = WindowPlan.of(check.session, from, functions)
        check.outside(id, plan.before ++ plan.functions ++ plan.after)
        plan.schema
      } catch {
        case e: AnalysisException =>
          check.fault(id, site, "functions", functions.map(_._2).mkString(", "), Fault.of(e))
          from
      }
    (rows, per(text.per, from))
  }

  private def top(text: TopText, from: StructType): (StructType, StructType) = {
    order(text.order, from)
    (from, per(text.per, from))
  }

  private def upserts(text: UpsertsText, from: StructType): (StructType, StructType) = {
    val columns = text.by.map(from(_))
    columns.filterNot(f => isKey(f.dataType)).foreach(f => check.fault(id, site, "by", "", Fault.keyType(f.name, f.dataType)))
    val key = StructType(columns.zipWithIndex.map { case (f, i) => StructField(s"key_${i + 1}", f.dataType) })
    (if (text.pairs) from.add("_change", StringType) else from, key)
  }

  private def temporal(text: TemporalText, from: StructType): (StructType, StructType) = {
    for ((side, times) <- Seq("since" -> text.since, "until" -> text.until); (time, i) <- times.zipWithIndex) bound(from, time, s"$side/$i")
    (from, from)
  }

  /** Both times are of one type, which that of a session is, too. */
  private def sessions(text: SessionsText, from: StructType): (StructType, StructType) = {
    val times = ("time" -> text.time) +: text.until.map("until" -> _).toSeq
    val found = times.flatMap { case (at, sql) => bound(from, sql, at).map((at, sql, _)) }
    found.find { case (_, _, e) => !TimeWindows.isTime(e.dataType) || e.dataType != found.head._3.dataType }.foreach { case (at, sql, e) =>
      check.fault(id, site, at, sql, Fault.notTime("the time of sessions", e.dataType))
    }
    val time = found.headOption.map(_._3.dataType).getOrElse(TimestampType)
    (StructType(from.fields ++ text.names.map(StructField(_, time))), per(text.per, from))
  }

  private def heavyHitters(from: StructType): (StructType, StructType) = {
    from.filterNot(f => isKey(f.dataType)).foreach(f => check.fault(id, site, "by", "", Fault.keyType(f.name, f.dataType)))
    (from.add("count", LongType, nullable = false).add("overestimate", LongType, nullable = false), new StructType)
  }

  private def per(texts: Seq[String], from: StructType): StructType = StructType(texts.zipWithIndex.flatMap { case (sql, i) =>
    bound(from, sql, s"per/$i").map(e => StructField(s"key_${i + 1}", Bind.loosen(e.dataType)))
  })

  private def order(texts: Seq[(String, String, String)], from: StructType): Unit =
    texts.zipWithIndex.foreach { case ((sql, _, _), i) =>
      bound(from, sql, s"order/$i").foreach { e =>
        if (!RowOrdering.isOrderable(e.dataType)) check.fault(id, site, s"order/$i", sql, Fault.keyType("order", e.dataType))
      }
    }

  private def condition(scope: StructType, sql: String): Unit = {
    val text = Program.Text(sql, "condition", site)
    check.bind(id, scope, Seq(text)).flatten.foreach(check.condition(id, text, _))
  }

  private def bound(scope: StructType, sql: String, at: String) = check.bind(id, scope, Seq(Program.Text(sql, at, site))).head
}
