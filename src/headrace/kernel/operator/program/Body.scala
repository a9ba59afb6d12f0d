package headrace.operator.program

import headrace.letter.Rejected
import headrace.operator.program.cell.{EntriesCode, Projected}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** One handler's method in the generated class. */
private[program] final class Body(generate: Generate, program: Program, handler: Program.Handler, number: Int, bound: Scopes) {
  import generate.{apart, cells, chunks, ctx, place, places}

  private val rowSchema = program.inputOf(handler).map(_.schema)
  private val statements = Program.all(handler.body)

  /** The columns of the scope that its texts name. */
  private val named: Set[String] = bound.expressions.values.flatMap(_.collect { case b: BoundReference => bound.scope(b.ordinal).name }).toSet

  /** The locals, each with its place. */
  private val locals: Map[String, (Int, Field)] = {
    val fixed = Set("e", "key", "at", Program.TimerKey, Program.Now, Program.Watermark)
    bound.scope.fields.filterNot(f => fixed.contains(f.name)).map { f =>
      val field = Field(ctx.freshName("local"), f.dataType)
      f.name -> (places.add(field), field)
    }.toMap
  }

  /** The open loops, by the name of their entry: the cell and the field of the loop. */
  private var loops = Map.empty[String, (EntriesCode, String)]

  /** The name of the method. If the handler fails, the cells that it may set are restored, all but counters. */
  def method: String = {
    val code = chunks(handler.body.map(statement), s"part$number")
    val body = if (code.length > Generate.MethodSize) apart(code, s"part$number") else code
    val counts = statements.exists { case a: Program.Assign => a.cell.startsWith(Program.Counter); case _ => false }
    val (keep, undo) = changed.map(cells(_).undo).unzip
    val name = ctx.freshName(s"on$number")
    val guarded =
      if (changed.isEmpty) body
      else s"""
        final boolean wasDirty = dirty;
        firing = ${handler.kind == "timer"};
        ${keep.mkString("\n")}
        try {
          $body
        } catch (Throwable failure) {
          dirty = wasDirty || $counts;
          ${undo.mkString("\n")}
          Platform.throwException(failure);
        }"""
    ctx.addNewFunction(name, s"private void $name() {\n$guarded\n}", inlineToOuterClass = true)
  }

  private def changed: Seq[String] = {
    val cellOf = statements.collect { case e: Program.Each => e.it -> e.cell }.toMap
    statements.collect {
      case a: Program.Assign => a.cell
      case a: Program.Append => a.cell
      case a: Program.Add => a.cell
      case r: Program.Replace => cellOf(r.it)
    }.distinct.filterNot(_.startsWith(Program.Counter))
  }

  private def statement(s: Program.Statement): String = s match {
    case r: Program.Read => place(r.site) + cells(r.cell).read(r.what, r.key.map(expression), locals(r.local)._2)
    case Program.Assign(cell, key, None, _, site) => place(site) + cells(cell).clear(key.map(expression)) + "dirty = true;\n"
    case Program.Assign(cell, key, Some(value), _, site) =>
      place(site) + cells(cell).set(key.map(expression), expression(value)) + "dirty = true;\n"
    case Program.Append(cell, value, _, site) => place(site) + cells(cell).append(expression(value)) + "dirty = true;\n"
    case Program.Add(cell, row, _, site) => place(site) + cells(cell).add(row.map(c => expression(c._2))) + "dirty = true;\n"
    case l: Program.Let => place(l.site) + locals(l.local)._2.take(ctx, expression(l.value))
    case w: Program.When => choose(w.branches)
    case e: Program.Each => each(e)
    case r: Program.Replace => replace(r)
    case e: Program.Emit => emit(e)
    case r: Program.Reject => reject(r)
  }

  private def choose(branches: Seq[(Option[Program.Text], Seq[Program.Statement])]): String = branches match {
    case Seq() => ""
    case (None, body) +: _ => chunks(body.map(statement), s"part$number")
    case (Some(condition), body) +: rest =>
      val ev = expression(condition).genCode(ctx)
      val yes = chunks(body.map(statement), s"part$number")
      val no = choose(rest)
      // A long chain of branches nests, so what comes after the first may go into a method of its own.
      val other = if (no.length > Generate.MethodSize / 4) apart(no, s"part$number") else no
      s"${place(condition.site)}${ev.code}\nif (!${ev.isNull} && ${ev.value}) {\n$yes} else {\n$other}\n"
  }

  private def each(e: Program.Each): String = {
    val cell = cells(e.cell).asInstanceOf[EntriesCode]
    val loop = ctx.freshName("loop")
    generate.declarations += s"private headrace.operator.program.cell.Loop $loop;"
    val limits = Seq(e.low, e.high).map(_.map(t => cell.keyRow(expression(t))))
    val Seq(low, high) = limits.map(_.fold("null")(_.row))
    loops += e.it -> (cell, loop)
    val sets = statements.exists { case r: Program.Replace => r.it == e.it; case _ => false }
    val entry = ctx.freshName("entry")
    val parts = Seq("key", "value").filter(p => locals.contains(s"${e.it}.$p")).zipWithIndex.collect {
      case (part, i) if named(s"${e.it}.$part") || (sets && part == "key") => locals(s"${e.it}.$part")._2.takeColumn(entry, i)
    }
    val index = if (named(s"${e.it}.index")) {
      val f = locals(s"${e.it}.index")._2
      s"${f.missing} = false; ${f.name} = $loop.index();\n"
    } else ""
    val body = chunks(e.body.map(statement), s"part$number")
    loops -= e.it
    s"""${place(e.site)}${limits.flatten.map(_.code).mkString("\n")}
      $loop = ${cell.entries}.loop($low, $high, ${e.reverse});
      while ($loop.next()) {
        UnsafeRow $entry = $loop.entry();
        ${parts.mkString}$index$body}
      """
  }

  private def replace(r: Program.Replace): String = {
    val (cell, loop) = loops.getOrElse(r.it, throw Program.broken(program.name, s"no loop ${r.it} is open"))
    val change = r.value match {
      case None => s"$loop.remove();\n"
      case Some(value) =>
        val key = locals.get(s"${r.it}.key").map { case (ordinal, f) => f.slot(ordinal) }.orNull
        cell.replace(loop, key, expression(value))
    }
    place(r.site) + change + "dirty = true;\n"
  }

  private def emit(e: Program.Emit): String = {
    val number = program.outputs.indexWhere(_.name == e.output)
    if (number < 0) throw Program.broken(program.name, s"no output ${e.output}")
    val schema = program.outputs(number).schema
    if (schema.fieldNames.toSeq != e.row.map(_._1))
      throw Program.broken(program.name, s"output ${e.output} has ${schema.fieldNames.mkString(", ")}")
    val row = Projected(ctx, e.row.zip(schema.fields).map { case ((_, t), f) => Field.widened(expression(t), f.dataType) }: _*)
    val code = s"${place(e.site)}${row.code}\nsend($number, ${row.row});\n"
    if (code.length > Generate.MethodSize) apart(code, "emit") else code
  }

  private def reject(r: Program.Reject): String = {
    val ev = Field.widened(expression(r.reason), StringType).genCode(ctx)
    // After `if (true)`, the Java compiler does not report the following code as unreachable.
    s"${place(r.site)}${ev.code}\nif (true) throw new ${classOf[Rejected].getName}(${ev.isNull} ? \"rejected\" : ${ev.value}.toString());\n"
  }

  /** The text's expression with places of the class instead of columns of the scope. */
  private def expression(text: Program.Text): Expression = bound.expressions(text).transformDown {
    case GetStructField(BoundReference(i, _, _), f, _) if name(i) == "e" => column(rowSchema.get, f, "e", Slot.Row)
    case GetStructField(BoundReference(i, _, _), f, _) if name(i) == "key" => column(program.key, f, "key", Slot.Key)
    case b @ BoundReference(i, dataType, _) =>
      name(i) match {
        case local if locals.contains(local) => locals(local)._2.slot(locals(local)._1)
        case "e" => Slot(dataType, nullable = false, Slot.Variable("e", "false"), Slot.Row, -1)
        case "key" => Slot(dataType, nullable = false, Slot.Variable("key", "false"), Slot.Key, -1)
        case "at" => Slot(dataType, nullable = false, Slot.Variable("at", "false"), Slot.At, -1)
        case Program.TimerKey => Slot(dataType, nullable = true, Slot.Column("timer"), Slot.Timer, 0)
        case Program.Now => Slot(dataType, nullable = false, Slot.Variable("now()", "false"), Slot.Now, -1)
        case Program.Watermark => Slot(dataType, nullable = true, Slot.Variable("watermark()", "(!hasWatermark())"), Slot.Watermark, -1)
        case other => throw Program.broken(program.name, s"no place for $other in $b")
      }
  }

  private def name(i: Int): String = bound.scope(i).name

  private def column(schema: StructType, i: Int, row: String, ordinal: Int): Slot =
    Slot(schema(i).dataType, nullable = true, Slot.Column(row), ordinal, i)
}
