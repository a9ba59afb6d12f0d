package headrace.operator

import headrace.document.{InputText, RelationText, RelationalText}
import org.apache.spark.sql.types.StructType

/** A relational operator as the query document describes it, with its own part (`text`) in its own type. */
final case class Relational[+T <: RelationText](operator: RelationalText, text: T) {
  def name: String = operator.name
  def key: StructType = operator.key
  def inputs: Seq[InputText] = operator.inputs

  /** Are rows only ever inserted into it? */
  def append: Boolean = operator.append

  /** The columns of a side's rows. */
  def side(number: Int): StructType =
    inputs.find(_.side == number).map(_.schema).getOrElse(throw new IllegalArgumentException(s"$name has no side $number"))

  /** The columns of an output's rows. */
  def output(name: String): StructType = operator.outputs.find(_.name == name).fold(new StructType)(_.schema)
}

object Relational {

  def of(operator: RelationalText): Relational[RelationText] = Relational(operator, operator.relation)

  /** The outputs that all relational operators have. */
  val Outputs: Seq[String] = Seq("main", "dead_letter")
  val Main = 0
  val DeadLetter = 1

  /** The number of the output for late rows, by side; −1 for none. These outputs follow the operator's own. */
  private[operator] def lateOutputs(late: Seq[(String, Int)], inner: OperatorSpec): Array[Int] = {
    val lateOutputs = Array.fill(256)(-1)
    late.zipWithIndex.foreach { case ((_, side), i) => lateOutputs(side) = inner.outputs.size + i }
    lateOutputs
  }
}
