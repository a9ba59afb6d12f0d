package headrace.operator

import headrace.document.{InputText, RelationText, RelationalText}
import org.apache.spark.sql.types.StructType

/** An operator of queries as the query document has it, with its own part (`text`) as its own type. */
final case class Relational[+T <: RelationText](operator: RelationalText, text: T) {
  def name: String = operator.name
  def key: StructType = operator.key
  def inputs: Seq[InputText] = operator.inputs

  /** Are rows only ever added to it? */
  def append: Boolean = operator.append

  /** The rows of a side. */
  def side(number: Int): StructType =
    inputs.find(_.side == number).map(_.schema).getOrElse(throw new IllegalArgumentException(s"$name has no side $number"))

  /** The rows of an output. */
  def output(name: String): StructType = operator.outputs.find(_.name == name).fold(new StructType)(_.schema)
}

object Relational {

  def of(operator: RelationalText): Relational[RelationText] = Relational(operator, operator.relation)

  /** The outputs of all of them. */
  val Outputs: Seq[String] = Seq("main", "dead_letter")
  val Main = 0
  val DeadLetter = 1

  /** By side, the number of the output for its late rows, behind those of the operator itself; −1 for none. */
  private[operator] def lateOutputs(late: Seq[(String, Int)], inner: OperatorSpec): Array[Int] = {
    val found = Array.fill(256)(-1)
    late.zipWithIndex.foreach { case ((_, side), i) => found(side) = inner.outputs.size + i }
    found
  }
}
