package headrace.document

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import headrace.HeadraceKernelException

/** The fields of an object in a document. A missing field is an error, and so is one that remains unread. */
final class Fields(json: JsonNode, part: String, at: String) {
  if (!json.isObject) throw Reader.wrong(json, at, s"the fields of $part")

  private val unread = mutable.LinkedHashSet.from(json.fieldNames.asScala)

  /** Reads a required field. */
  def apply[T](name: String)(implicit of: Reader[T]): T = {
    val value = json.get(name)
    if (value == null) throw broken(s"$part has no field `$name`")
    unread -= name
    of.read(value, s"$at/$name")
  }

  /** Reads an optional field. */
  def maybe[T](name: String)(implicit of: Reader[T]): Option[T] = if (json.has(name)) apply[Option[T]](name) else None

  /** Reads a flag that is omitted if it is false. */
  def flag(name: String): Boolean = maybe[Boolean](name).contains(true)

  /** Reads a connector's options, if any: texts, numbers and flags, all as texts. */
  def options: Map[String, String] = maybe[Map[String, JsonNode]]("options").fold(Map.empty[String, String])(_.map {
    case (name, value) if value.isValueNode && !value.isNull => name -> value.asText
    case (name, other) => throw Reader.wrong(other, s"$at/options/$name", "a text")
  })

  /** Whether the field exists and is not read yet. */
  def has(name: String): Boolean = unread(name)

  /** Checks that all fields were read. */
  def end(): Unit = unread.headOption.foreach(name => throw broken(s"$part has an unknown field `$name`"))

  private[document] def noKind(of: String, kind: String): HeadraceKernelException = broken(s"there is no $of `$kind`")

  private[document] def noKind(of: String): HeadraceKernelException =
    broken(s"no $of has the fields ${json.fieldNames.asScala.mkString("`", "`, `", "`")}")

  /** Makes an error. If the object has a name, it is that of the node. */
  private def broken(what: String) = Reader.broken(at, what, json.path("name").textValue)
}
