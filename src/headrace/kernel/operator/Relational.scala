package headrace.operator

import org.apache.spark.sql.types.StructType
import org.json4s._
import org.json4s.jackson.JsonMethods

/** What a query document says of any relational operator: its key, the rows of its sides, and whether rows are only ever added to it. */
final case class Relational(name: String, key: StructType, sides: Map[Int, StructType], append: Boolean, json: JValue) {
  def side(number: Int): StructType = sides(number)

  def text(field: String): Option[String] = json \ field match {
    case JString(value) => Some(value)
    case _ => None
  }

  /** The rows of an output. */
  def output(name: String): StructType = json \ "outputs" match {
    case JArray(all) => all.find(_ \ "name" == JString(name)).fold(new StructType)(o => Relational.schema(o \ "schema"))
    case _ => new StructType
  }

  def flag(field: String): Boolean = json \ field == JBool(true)

  def number(field: String): Option[Long] = json \ field match {
    case JInt(value) => Some(value.toLong)
    case _ => None
  }

  def names(field: String): Seq[String] = json \ field match {
    case JArray(items) => items.collect { case JString(name) => name }
    case _ => Nil
  }

  /** The outputs for rows that came too late, each with the side whose rows it takes. */
  def late: Seq[(String, Int)] = json \ "late" match {
    case JObject(sides) => sides.collect { case (output, JInt(side)) => output -> side.toInt }
    case _ => Nil
  }

  /** Lists of texts, such as pairs of a name and an expression. */
  def texts(field: String): Seq[Seq[String]] = json \ field match {
    case JArray(items) => items.collect { case JArray(parts) => parts.collect { case JString(part) => part } }
    case _ => Nil
  }
}

object Relational {

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

  def read(text: String): Relational = {
    val json = JsonMethods.parse(text)
    val sides = json \ "inputs" match {
      case JArray(inputs) => inputs.map(input => (input \ "side").asInstanceOf[JInt].num.toInt -> schema(input \ "schema")).toMap
      case _ => Map.empty[Int, StructType]
    }
    val JString(name) = json \ "name": @unchecked
    Relational(name, schema(json \ "key"), sides, json \ "append" == JBool(true), json)
  }

  private def schema(value: JValue): StructType = value match {
    case JString(ddl) if ddl.nonEmpty => StructType.fromDDL(ddl)
    case _ => new StructType
  }
}
