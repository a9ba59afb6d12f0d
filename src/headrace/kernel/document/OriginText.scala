// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** Where the state of operators lies that is taken. */
sealed trait OriginText {
  def kind: String
  def folder: String
}

object OriginText {
  private[document] def of(kind: String, f: Fields): OriginText = kind match {
    case "stores" => StoresText.of(f)
    case "portable" => PortableText.of(f)
    case other => throw f.noKind("OriginText", other)
  }
  private[document] def of(f: Fields): OriginText = of(f[String]("kind"), f)
  implicit val reader: Reader[OriginText] = Reader.of("OriginText")(of(_: Fields))
}

/** In the stores of a query, as of the end of an epoch. */
final case class StoresText(kind: String, folder: String, epoch: Long, partitions: Int, operators: Seq[TakenText]) extends OriginText

object StoresText {
  private[document] def of(f: Fields): StoresText = StoresText(
    f[String]("kind"),
    f[String]("folder"),
    f[Long]("epoch"),
    f[Int]("partitions"),
    f[Seq[TakenText]]("operators"))
}

/** In the files of a portable savepoint, in a folder as Spark's readers take it. `paged`: the operators that have pages of bags. */
final case class PortableText(kind: String, folder: String, operators: Seq[Int], paged: Seq[Int]) extends OriginText

object PortableText {
  private[document] def of(f: Fields): PortableText = PortableText(
    f[String]("kind"),
    f[String]("folder"),
    f[Seq[Int]]("operators"),
    f[Seq[Int]]("paged"))
}
