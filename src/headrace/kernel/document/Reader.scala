package headrace.document

import scala.collection.immutable.ListMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import headrace.HeadraceKernelException
import org.apache.spark.sql.types.StructType

/** Reads a value of a document; `at` is its path there (`/levels/0/1/keys`), for errors. */
trait Reader[T] { def read(json: JsonNode, at: String): T }

object Reader {

  /** Makes a reader of objects; `of` must read all fields. `part` is the name in errors. */
  def of[T](part: String)(of: Fields => T): Reader[T] = (json, at) => {
    val fields = new Fields(json, part, at)
    val read = of(fields)
    fields.end()
    read
  }

  implicit val text: Reader[String] = plain("a text")(_.isTextual)(_.textValue)
  implicit val flag: Reader[Boolean] = plain("true or false")(_.isBoolean)(_.booleanValue)
  implicit val int: Reader[Int] = plain("a number of 32 bits")(n => n.isIntegralNumber && n.canConvertToInt)(_.intValue)
  implicit val long: Reader[Long] = plain("a number of 64 bits")(n => n.isIntegralNumber && n.canConvertToLong)(_.longValue)
  implicit val json: Reader[JsonNode] = (json, _) => json

  /** Must run under the plan's settings, which decide what `timestamp` means. */
  implicit val columns: Reader[StructType] = (json, at) => {
    val ddl = text.read(json, at)
    if (ddl.isEmpty) new StructType else StructType.fromDDL(ddl)
  }

  implicit def maybe[T](implicit of: Reader[T]): Reader[Option[T]] = (json, at) => if (json.isNull) None else Some(of.read(json, at))

  implicit def list[T](implicit of: Reader[T]): Reader[Seq[T]] = (json, at) =>
    items(json, at).zipWithIndex.map { case (item, i) => of.read(item, s"$at/$i") }

  implicit def pair[A, B](implicit a: Reader[A], b: Reader[B]): Reader[(A, B)] = (json, at) =>
    items(json, at) match {
      case Seq(one, other) => (a.read(one, s"$at/0"), b.read(other, s"$at/1"))
      case _ => throw wrong(json, at, "two values")
    }

  implicit def triple[A, B, C](implicit a: Reader[A], b: Reader[B], c: Reader[C]): Reader[(A, B, C)] = (json, at) =>
    items(json, at) match {
      case Seq(one, other, last) => (a.read(one, s"$at/0"), b.read(other, s"$at/1"), c.read(last, s"$at/2"))
      case _ => throw wrong(json, at, "three values")
    }

  /** In the order of the document. */
  implicit def byName[T](implicit of: Reader[T]): Reader[Map[String, T]] = (json, at) => {
    if (!json.isObject) throw wrong(json, at, "an object")
    ListMap.from(json.fieldNames.asScala.map(name => name -> of.read(json.get(name), s"$at/$name")))
  }

  private def plain[T](what: String)(fits: JsonNode => Boolean)(value: JsonNode => T): Reader[T] = (json, at) =>
    if (fits(json)) value(json) else throw wrong(json, at, what)

  private def items(json: JsonNode, at: String): Seq[JsonNode] =
    if (json.isArray) json.elements.asScala.toSeq else throw wrong(json, at, "a list")

  private[document] def wrong(json: JsonNode, at: String, wanted: String): HeadraceKernelException =
    broken(at, s"$wanted is expected, not $json")

  private[document] def broken(at: String, what: String, node: String = null): HeadraceKernelException = {
    val place = if (at.isEmpty) "" else s" at $at"
    new HeadraceKernelException("KERNEL_DOCUMENT", s"the document was written by another version of headrace than this kernel:$place $what", node)
  }
}
