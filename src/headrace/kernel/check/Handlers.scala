package headrace.check

import scala.collection.mutable
import scala.util.control.NonFatal

import headrace.bind.{Aggregation, Bind, Fault}
import headrace.document.ProgramRequestText
import headrace.operator.program.{Program, Scopes}
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types._

/** The check of a program: its cells, its handlers' statements, and the schemas of the rows they emit. */
private final class Handlers(check: Check, id: String, site: String, key: StructType, from: Seq[StructType], text: ProgramRequestText) {
  private val program: Program = {
    val read = Program.of(text)
    read.copy(key = key, inputs = read.inputs.zip(from).map { case (i, s) => i.copy(schema = s) }).bound { (columns, t) =>
      try Aggregation.bind(check.session, columns, t.sql)
      catch {
        case NonFatal(e) =>
          check.fault(id, t.site, t.at, t.sql, Fault.of(e))
          Aggregation.unknown(columns)
      }
    }
  }

  /** Emitted columns by output: names of the first emit, types of all. */
  private val emitted = mutable.LinkedHashMap.empty[String, (Seq[String], Seq[Option[DataType]])]

  /** The schemas by name: the main output under `id`, the others as `id#name`. */
  def schemas: Seq[(String, StructType)] = {
    program.handlers.foreach(handler)
    check.keeps(id, for (c <- program.cells; a <- c.aggregation) yield c.name -> (if (a.isOpen) "values" else "constant"))
    program.cells.flatMap(_.computed).foreach(check.syntax(id, _))
    val rows = emitted.map { case (output, (names, types)) =>
      output -> StructType(names.zip(types).map { case (n, t) => StructField(n, t.getOrElse(NullType)) })
    }
    program.outputs.foreach(time(_, rows))
    val main = id -> rows.getOrElse("main", new StructType())
    val sides = (rows.keySet ++ program.outputs.map(_.name)).toSeq.distinct
      .filterNot(o => o == "main" || o == "dead_letter" || program.inputs.exists(Program.lateOutput(_) == o))
      .map(o => s"$id#$o" -> rows.getOrElse(o, new StructType()))
    val late = program.inputs.map(i => s"$id#${Program.lateOutput(i)}" -> i.schema)
    (main +: sides) ++ late :+ (s"$id#dead_letter" -> Wire.deadSchema)
  }

  private def handler(h: Program.Handler): Unit = {
    val scopes = Scopes.of(program, h)((scope, texts) => check.bind(id, scope, texts))
    val bound = scopes.expressions.map { case (t, e) => t.at -> e }
    val statements = Program.all(h.body)
    val loops = statements.collect { case e: Program.Each => e.it -> program.cell(e.cell) }.toMap
    def stores(cell: Program.Cell, to: DataType, text: Option[Program.Text]): Unit =
      for (t <- text; e <- bound.get(t.at)) check.fits(id, cell.name, to, t, e)
    def keyed(cell: Program.Cell, text: Option[Program.Text]): Unit = cell.key.foreach(stores(cell, _, text))
    statements.foreach {
      case r: Program.Read => keyed(program.cell(r.cell), r.key)
      case s: Program.Assign =>
        val cell = program.cell(s.cell)
        keyed(cell, s.key)
        stores(cell, if (cell.kind == "list") ArrayType(cell.dataType) else cell.dataType, s.value)
      case a: Program.Add =>
        val columns = program.cell(a.cell).aggregation.get.columns
        a.row.zip(columns).foreach { case ((name, t), c) => bound.get(t.at).foreach(check.fits(id, s"${a.cell}.$name", c.dataType, t, _)) }
      case s: Program.Append => stores(program.cell(s.cell), program.cell(s.cell).dataType, Some(s.value))
      case l: Program.Let => scopes.scope.fields.find(_.name == l.local).foreach(f => let(l, f.dataType, bound))
      case s: Program.When => s.branches.foreach(_._1.foreach(c => bound.get(c.at).foreach(check.condition(id, c, _))))
      case e: Program.Each => Seq(e.low, e.high).foreach(keyed(program.cell(e.cell), _))
      case r: Program.Replace => loops.get(r.it).foreach(cell => stores(cell, cell.dataType, r.value))
      case s: Program.Emit => emit(s, bound)
      case _: Program.Reject =>
    }
  }

  private def let(l: Program.Let, to: DataType, bound: Map[String, Expression]): Unit = bound.get(l.value.at).foreach { e =>
    if (to == NullType) check.fault(id, l.value.site, l.value.at, l.value.sql, Fault.What("LET_TYPE", "a local variable that starts as null has no type"))
    else check.fits(id, "a local variable", to, l.value, e)
  }

  private def emit(s: Program.Emit, bound: Map[String, Expression]): Unit = {
    val names = s.row.map(_._1)
    val types = s.row.map { case (_, t) => bound.get(t.at).map(e => Bind.loosen(e.dataType)) }
    check.distinct(id, s.site, s.at, names)
    emitted.get(s.output) match {
      case None => emitted(s.output) = (names, types)
      case Some((first, _)) if first != names =>
        check.fault(id, s.site, s.at, "", Fault.What("EMIT_NAMES_DIFFER",
          s"this emits ${names.mkString(", ")}; the first emit to this output has ${first.mkString(", ")}",
          "output" -> s.output, "names" -> names.mkString(", "), "first" -> first.mkString(", ")))
      case Some((first, before)) =>
        val widened = before.zip(types).zipWithIndex.map {
          case ((Some(a), Some(b)), n) =>
            val wide = check.widest(a, b).filterNot(_ => Check.textAndOther(a, b))
            if (wide.isEmpty)
              check.fault(id, s.site, s"${s.at}/row/$n", s.row(n)._2.sql, Fault.What("EMIT_TYPES_DIFFER",
                s"the emitted column `${names(n)}` is ${b.sql} here and ${a.sql} in an earlier emit", "column" -> names(n), "type" -> b.sql, "first" -> a.sql))
            wide.orElse(Some(a))
          case ((a, b), _) => a.orElse(b)
        }
        emitted(s.output) = (first, widened)
    }
  }

  private def time(output: Program.Output, rows: collection.Map[String, StructType]): Unit =
    for (column <- output.time; schema <- rows.get(output.name))
      schema.fields.find(f => check.same(f.name, column)) match {
        case None => check.fault(id, site, s"outputs/${output.name}/time", column, Fault.missing("TIME_COLUMN", column, schema))
        case Some(f) if !Check.isTime(f.dataType) =>
          check.fault(id, site, s"outputs/${output.name}/time", column, Fault.notTime(column, f.dataType))
        case _ =>
      }
}
