package headrace.operator.program.rewrite

import headrace.bag.Pages
import headrace.bind.Declared
import headrace.operator.{Rewrite, RowChange}
import headrace.operator.program.{Held, Program}
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.types.{DataType, TimestampType}
import org.json4s._

/** What changes in the bags of a program: the entries of some cells, and the rows that it holds, by their sides. */
private[program] final case class ProgramRewrite(name: String, cells: Map[Int, CellChange], held: Map[Int, RowChange]) extends Rewrite {

  /** A bag of entries goes with that of their times. */
  override def changes(bag: Int): Boolean = cells.contains(bag) || cells.contains(bag - Program.Expiry) || (bag == Held.Cell && held.nonEmpty)

  override def instance(): Rewrite.Run = new ProgramRewriteRun(this)
}

/** The entries of a cell: `row` is an entry's row, `key` its key now (none: a list's), `timeColumn` where it says when it goes or fires
  * (−1: nowhere). `shared`: they are versions for all keys.
  */
private[program] final case class CellChange(id: Int, name: String, shared: Boolean, row: RowChange, key: Option[DataType], timeColumn: Int)

private[program] object ProgramRewrite {
  def of(change: JValue): ProgramRewrite = {
    val JString(name) = change \ "name": @unchecked
    val JArray(cells) = change \ "cells": @unchecked
    val JArray(inputs) = change \ "inputs": @unchecked
    ProgramRewrite(name, cells.map(cell).map(c => c.id -> c).toMap, inputs.map(i => number(i \ "side") -> RowChange.of(i)).toMap)
  }

  private def cell(c: JValue): CellChange = {
    val (JString(kind), JString(name)) = (c \ "kind", c \ "name"): @unchecked
    val (was, now) = (entry(kind, c \ "old"), entry(kind, c \ "new"))
    val (from, to) = (was.row, now.row)
    val columns = to.fields.zipWithIndex.map { case (field, i) =>
      // What has been set before entries expired stays until it is set again.
      if (i < from.length) RowChange.casted(from, i, field.dataType) else Literal(State.Never, TimestampType)
    }
    CellChange(number(c \ "id"), name, kind == "broadcast", RowChange(from, to, columns.toSeq), now.key, now.timeColumn)
  }

  private def entry(kind: String, declared: JValue): Program.Entry = {
    val JString(value) = declared \ "type": @unchecked
    val key = declared \ "key" match {
      case JString(ddl) => Some(Declared.dataType(ddl))
      case _ => None
    }
    Program.Entry(kind, Declared.dataType(value), key, declared \ "expires" == JBool(true))
  }

  private def number(value: JValue): Int = value.asInstanceOf[JInt].num.toInt
}

private final class ProgramRewriteRun(change: ProgramRewrite) extends Rewrite.Run {
  private val held = if (change.held.isEmpty) None else Some(new HeldRewrite(change.held))
  private val entries = change.cells.collect { case (id, c) if !c.shared => id -> new EntriesRewrite(change.name, c) }
  private val versions = change.cells.collect { case (id, c) if c.shared => id -> new VersionsRewrite(change.name, c) }

  override def apply(from: Map[Int, Pages], shared: Boolean, to: Int => Pages): Rewrite.Counted = {
    val rewritten = change.cells.keys.toSeq.sorted.flatMap(cell => from.get(cell).map(cell -> _)).map { case (cell, pages) =>
      val (main, times) = (to(cell), to(cell + Program.Expiry))
      if (shared) versions(cell)(pages, main, times) else entries(cell)(pages, main, times)
    }
    val rows = for { rewrite <- held; pages <- from.get(Held.Cell) } yield rewrite(pages, to(Held.Cell))
    Rewrite.Counted(rewritten.sum, rows.getOrElse(0L))
  }
}
