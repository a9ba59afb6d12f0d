package headrace.check

import headrace.bind.{Bind, Declared, TimeWindows}
import headrace.operator.aggregate.Aggregate
import headrace.operator.partition.WindowPlan
import headrace.operator.program.Program
import headrace.route.Delivery
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.expressions.RowOrdering
import org.apache.spark.sql.types._
import org.json4s._

/** The check of one relational operator: the schema of its rows and that of its key. */
private[check] final class Relations(check: Check, id: String, site: String) {
  import Check._

  type Found = Option[(StructType, StructType)]

  /** `schemas` are those of its inputs. None: faults were found. */
  def of(kind: String, value: JValue, schemas: Seq[StructType]): Found = {
    val before = check.count
    val found = kind match {
      case "join" => join(value, schemas.head, schemas(1))
      case "join_asof" => asOf(value, schemas.head, schemas(1))
      case "lookup" => lookup(value, schemas.head)
      case "aggregate" => aggregate(value, schemas.head)
      case "partition" => partition(value, schemas.head)
      case "top" => top(value, schemas.head)
      case "upserts" => upserts(value, schemas.head)
      case "temporal" => temporal(value, schemas.head)
      case "sessions" => sessions(value, schemas.head)
      case _ => (schemas.head, schemas.head) // of whole rows
    }
    check.distinct(id, site, "columns", found._1.fieldNames.toSeq)
    if (check.count > before) None else Some(found)
  }

  private def join(value: JValue, left: StructType, right: StructType): (StructType, StructType) = {
    val keys = sides(value, left, right)
    val both = StructType(left.fields ++ right.fields)
    text(value \ "condition").foreach(condition(both, _))
    val rows = text(value \ "how") match {
      case Some("semi" | "anti") => left
      case Some("existence") => left.add(text(value \ "mark").getOrElse("exists"), BooleanType)
      case _ => both
    }
    (rows, if (keys.isEmpty) Delivery.shardKey else keys)
  }

  private def asOf(value: JValue, left: StructType, right: StructType): (StructType, StructType) = {
    list(value \ "time").flatMap(text(_)).zip(Seq(left, right)).zipWithIndex.foreach { case ((sql, from), i) =>
      bound(from, sql, s"time/$i").filter(_.dataType != TimestampType).foreach { e =>
        check.fault(id, site, s"time/$i", sql, Fault.notTime(s"the time of the ${if (i == 0) "left" else "right"} side", e.dataType))
      }
    }
    val shared = list(value \ "shared").flatMap(text(_)).toSet
    (StructType(left.fields ++ right.fields.filterNot(f => shared(f.name))), sides(value, left, right))
  }

  /** Keys that are found by their bytes: under a collation equal ones differ in them. */
  private def lookup(value: JValue, rows: StructType): (StructType, StructType) = {
    val table = Declared.schema(text(value \ "table").getOrElse(""))
    check.distinct(id, site, "table", table.fieldNames.toSeq)
    val keys = sides(value, rows, table)
    keys.filterNot(f => isKey(f.dataType)).foreach(f => check.fault(id, site, "keys", "", Fault.keyType(f.name, f.dataType)))
    (StructType(rows.fields ++ items(value \ "given").map { case (name, column) => table(column).copy(name = name) }), keys)
  }

  /** The keys of a join, each in one type for both sides. */
  private def sides(value: JValue, left: StructType, right: StructType): StructType = {
    val pairs = list(value \ "keys").zipWithIndex.collect { case (JArray(List(JString(l), JString(r))), i) =>
      (bound(left, l, s"keys/$i/0"), bound(right, r, s"keys/$i/1"), i)
    }
    StructType(pairs.collect { case (Some(l), Some(r), i) =>
      val types = Seq(l, r).map(e => Bind.loosen(e.dataType))
      val wide = check.widest(types.head, types(1))
      if (wide.isEmpty) check.fault(id, site, s"keys/$i", "", Fault.keyTypes(s"key ${i + 1}", types))
      StructField(s"key_${i + 1}", wide.getOrElse(types.head))
    })
  }

  private def aggregate(value: JValue, from: StructType): (StructType, StructType) = {
    val keys = StructType(items(value \ "keys").zipWithIndex.flatMap { case ((name, sql), i) =>
      bound(from, sql, s"keys/$i").map { e =>
        val dataType = Bind.loosen(e.dataType)
        if (!isKey(dataType)) check.fault(id, site, s"keys/$i", sql, Fault.keyType(name, dataType))
        StructField(name, dataType)
      }
    })
    val aggregates = items(value \ "aggregates")
    val made = Aggregate.bound(check.session, from, aggregates.map(_._2))
    val spelled = keys.zip(items(value \ "keys")).flatMap { case (key, (_, sql)) => Aggregate.storage(key.dataType).map(sql -> _) }
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

  private def partition(value: JValue, from: StructType): (StructType, StructType) = {
    order(value, from)
    val functions = items(value \ "functions")
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
    (rows, per(value, from))
  }

  private def top(value: JValue, from: StructType): (StructType, StructType) = {
    order(value, from)
    (from, per(value, from))
  }

  private def upserts(value: JValue, from: StructType): (StructType, StructType) = {
    val columns = list(value \ "by").flatMap(text(_)).map(from(_))
    columns.filterNot(f => isKey(f.dataType)).foreach(f => check.fault(id, site, "by", "", Fault.keyType(f.name, f.dataType)))
    val key = StructType(columns.zipWithIndex.map { case (f, i) => StructField(s"key_${i + 1}", f.dataType) })
    (if (value \ "pairs" == JBool(true)) from.add("_change", StringType) else from, key)
  }

  private def temporal(value: JValue, from: StructType): (StructType, StructType) = {
    for (side <- Seq("since", "until"); (time, i) <- list(value \ side).flatMap(text(_)).zipWithIndex) bound(from, time, s"$side/$i")
    (from, from)
  }

  /** Both times are of one type, which that of a session is, too. */
  private def sessions(value: JValue, from: StructType): (StructType, StructType) = {
    val times = Seq("time", "until").flatMap(at => text(value \ at).flatMap(bound(from, _, at).map(at -> _)))
    times.find { case (_, e) => !TimeWindows.isTime(e.dataType) || e.dataType != times.head._2.dataType }.foreach { case (at, e) =>
      check.fault(id, site, at, text(value \ at).getOrElse(""), Fault.notTime("the time of sessions", e.dataType))
    }
    val time = times.headOption.map(_._2.dataType).getOrElse(TimestampType)
    val names = list(value \ "names").flatMap(text(_))
    (StructType(from.fields ++ names.map(StructField(_, time))), per(value, from))
  }

  private def per(value: JValue, from: StructType): StructType = StructType(
    list(value \ "per").flatMap(text(_)).zipWithIndex.flatMap { case (sql, i) =>
      bound(from, sql, s"per/$i").map(e => StructField(s"key_${i + 1}", Bind.loosen(e.dataType)))
    })

  private def order(value: JValue, from: StructType): Unit =
    list(value \ "order").zipWithIndex.foreach {
      case (JArray(JString(sql) :: _), i) =>
        bound(from, sql, s"order/$i").foreach { e =>
          if (!RowOrdering.isOrderable(e.dataType)) check.fault(id, site, s"order/$i", sql, Fault.keyType("order", e.dataType))
        }
      case _ =>
    }

  private def condition(scope: StructType, sql: String): Unit = {
    val text = Program.Text(sql, "condition", site)
    check.bind(id, scope, Seq(text)).flatten.foreach(check.condition(id, text, _))
  }

  private def bound(scope: StructType, sql: String, at: String) = check.bind(id, scope, Seq(Program.Text(sql, at, site))).head

  private def items(value: JValue): Seq[(String, String)] =
    list(value).collect { case JArray(List(JString(name), JString(sql))) => name -> sql }
}
