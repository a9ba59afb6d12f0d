package headrace.document

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import headrace.HeadraceKernelException

/** The fields of an object in a document. One that is missing is an error, and so is one that nobody has read in the end. */
final class Fields(json: JsonNode, part: String, at: String) {
  if (!json.isObject) throw Reader.wrong(json, at, s"the fields of $part")

  private val unread = mutable.LinkedHashSet.from(json.fieldNames.asScala)

  /** A field that is always there. */
  def apply[T](name: String)(implicit of: Reader[T]): T = {
    val value = json.get(name)
    if (value == null) throw broken(s"$part has no field `$name`")
    unread -= name
    of.read(value, s"$at/$name")
  }

  /** A field that may be left out. */
  def maybe[T](name: String)(implicit of: Reader[T]): Option[T] = if (json.has(name)) apply[Option[T]](name) else None

  /** A flag that is left out where it is false. */
  def flag(name: String): Boolean = maybe[Boolean](name).contains(true)

  /** What a connector was told, if anything: texts, numbers and flags, all as texts. */
  def options: Map[String, String] = maybe[Map[String, JsonNode]]("options").fold(Map.empty[String, String])(_.map {
    case (name, value) if value.isValueNode && !value.isNull => name -> value.asText
    case (name, other) => throw Reader.wrong(other, s"$at/options/$name", "a text")
  })

  /** Is it there, and not read yet? */
  def has(name: String): Boolean = unread(name)

  /** After the last one. */
  def end(): Unit = unread.headOption.foreach(name => throw broken(s"$part has an unknown field `$name`"))

  private[document] def noKind(of: String, kind: String): HeadraceKernelException = broken(s"there is no $of `$kind`")

  private[document] def noKind(of: String): HeadraceKernelException =
    broken(s"no $of has the fields ${json.fieldNames.asScala.mkString("`", "`, `", "`")}")

  /** Where the object has a name, that is the node's. */
  private def broken(what: String) = Reader.broken(at, what, json.path("name").textValue)
}
