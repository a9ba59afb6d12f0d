// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** Where the state of an operator lies. */
sealed trait StateText {
  def kind: String
}

object StateText {
  private[document] def of(kind: String, f: Fields): StateText = kind match {
    case "store" => StoreStateText.of(f)
    case "portable" => PortableStateText.of(f)
    case other => throw f.noKind("StateText", other)
  }
  private[document] def of(f: Fields): StateText = of(f[String]("kind"), f)
  implicit val reader: Reader[StateText] = Reader.of("StateText")(of(_: Fields))
}

/** In the folder of its query, after an epoch. */
final case class StoreStateText(kind: String, checkpoint: String, epoch: Long, level: Int) extends StateText

object StoreStateText {
  private[document] def of(f: Fields): StoreStateText = StoreStateText(
    f[String]("kind"),
    f[String]("checkpoint"),
    f[Long]("epoch"),
    f[Int]("level"))
}

/** In the files of a portable savepoint, in a folder as Spark's readers take it. */
final case class PortableStateText(kind: String, files: String) extends StateText

object PortableStateText {
  private[document] def of(f: Fields): PortableStateText = PortableStateText(f[String]("kind"), f[String]("files"))
}
