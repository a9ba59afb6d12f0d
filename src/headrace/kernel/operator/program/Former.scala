package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.letter.{Failure, RowJson}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types._

/** A layout in which rows may still be stored, and the conversion of such a row to the next layout: a renamed cell stays, a removed one is
  * dropped, a widened one is cast, an added one is null or computed.
  *
  * The first `cells` of its `width` columns are those of cells; `paged` are the ids of its lists and maps. `next` gives the columns of the
  * next layout, and `computed` which of them are computed. Steps are taken one at a time, not as one expression: a row that a step leaves
  * empty is gone for later steps, as if its key had been worked on in each version.
  */
final case class Former(number: Int, width: Int, cells: Int, paged: Set[Int], next: Seq[Expression], computed: Seq[Former.Computed]) {

  /** Are all cells in this row null? */
  def isEmpty(row: UnsafeRow): Boolean = {
    var i = 0
    while (i < cells && row.isNullAt(i)) i += 1
    i == cells
  }
}

object Former {
  final case class Computed(column: Int, cell: String, text: Program.Text)

  /** One for each layout before the present one, in order. */
  def of(program: Program)(bind: (StructType, Program.Text) => Expression): Seq[Former] = {
    val layouts = program.layout.old.sortBy(_.number) :+ Program.Old(program.layout.number, program.cells)
    val sites = program.cells.flatMap(c => c.computed.map(c.id -> _.site)).toMap
    // From the last step back, because a later step shows which columns of the layout before it are used at all.
    layouts.zip(layouts.drop(1)).foldRight((Seq.empty[Former], Option.empty[Set[Int]])) { case ((from, to), (later, used)) =>
      val computed = to.columns.zipWithIndex.collect { case (Program.Column(id, cell, false), i) if isComputed(from, cell) =>
        val text = cell.computed.get
        Computed(i, cell.name, text.copy(site = sites.getOrElse(id, text.site)))
      }
      val next = to.columns.zipWithIndex.map { case (column, i) =>
        computed.find(_.column == i) match {
          case None => kept(from, column)
          case Some(c) =>
            val value = Field.stored(over(from, c.text, bind), column.dataType)
            if (used.forall(_.contains(i))) value else Gone(value)
        }
      }
      val names = next.zipWithIndex.filter { case (_, i) => used.forall(_.contains(i)) }.flatMap(_._1.collect { case b: BoundReference => b.ordinal })
      val paged = from.cells.filter(_.paged).map(_.id).toSet
      val former = Former(from.number, from.columns.size, from.columns.count(!_.isExpiry), paged, next, computed)
      (former +: later, Some(names.toSet))
    }._1
  }

  private def isComputed(from: Program.Old, cell: Program.Cell): Boolean = cell.computed.isDefined && !from.cells.exists(_.id == cell.id)

  private def kept(from: Program.Old, column: Program.Column): Expression = from.columns.indexWhere(_.id == column.id) match {
    case -1 => Literal(null, column.dataType)
    case i =>
      val was = BoundReference(i, from.columns(i).dataType, nullable = true)
      if (was.dataType == column.dataType) was else Cast(was, column.dataType, Some(Settings.zone))
  }

  /** A text over the cells of a layout, as an expression over its stored row. */
  private def over(from: Program.Old, text: Program.Text, bind: (StructType, Program.Text) => Expression): Expression = {
    val readable = from.columns.zipWithIndex.filter { case (c, _) => !c.isExpiry && c.cell.readable }
    val scope = StructType(readable.map { case (c, _) => StructField(c.cell.name, c.dataType) })
    bind(scope, text).transformUp { case b: BoundReference => b.copy(ordinal = readable(b.ordinal)._2) }
  }
}

/** A computed value that no later layout uses: it only shows that the row was not empty. A failure is null, since it would otherwise stop a
  * job that no longer has the cell.
  */
private[program] final case class Gone(child: Expression) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override def foldable: Boolean = false
  override def eval(input: InternalRow): Any =
    try child.eval(input)
    catch { case e: Throwable if Failure.ofRow(e) => null }
  override protected def withNewChildInternal(newChild: Expression): Gone = copy(child = newChild)
}

/** A former layout's conversion to the next one, at work. */
private[program] final class Step(node: String, key: StructType, former: Former) {
  private lazy val projection = UnsafeProjection.create(former.next)
  private lazy val keyJson = new RowJson(key)

  /** The row in the next layout, in a buffer that the next call overwrites. */
  def next(row: UnsafeRow, of: => UnsafeRow): UnsafeRow =
    try projection(row)
    catch { case e: Throwable if Failure.ofRow(e) => throw described(row, of).getOrElse(e) }

  /** The failure, as an error that names the cell and the key. */
  private def described(row: UnsafeRow, of: UnsafeRow): Option[Throwable] =
    former.computed.iterator.flatMap(c => failure(c, row).map(c -> _)).nextOption().map { case (c, e) =>
      val whose = if (key.isEmpty) "" else s" for the key ${keyJson(of)}"
      new HeadraceKernelException(
        "WAS_FAILED",
        s"$node: the first value of the cell ${c.cell}, `${c.text.sql}`, fails$whose: ${Failure.reason(e)}",
        node,
        c.text.site,
        e)
    }

  private def failure(c: Former.Computed, row: UnsafeRow): Option[Throwable] =
    try {
      former.next(c.column).eval(row)
      None
    } catch { case e: Throwable if Failure.ofRow(e) => Some(e) }
}
