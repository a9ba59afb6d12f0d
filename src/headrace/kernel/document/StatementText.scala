// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** One statement of a handler, with the user's line. A subclass has `do`, its name in JSON, and fields. */
sealed trait StatementText {
  def site: Option[String]
}

object StatementText {
  private[document] def of(kind: String, f: Fields): StatementText = kind match {
    case "read" => ReadText.of(f)
    case "set" => SetText.of(f)
    case "clear" => ClearText.of(f)
    case "append" => AppendText.of(f)
    case "add" => AddText.of(f)
    case "let" => LetText.of(f)
    case "when" => WhenText.of(f)
    case "each" => EachText.of(f)
    case "replace" => ReplaceText.of(f)
    case "emit" => EmitText.of(f)
    case "reject" => RejectText.of(f)
    case other => throw f.noKind("StatementText", other)
  }
  private[document] def of(f: Fields): StatementText = of(f[String]("do"), f)
  implicit val reader: Reader[StatementText] = Reader.of("StatementText")(of(_: Fields))
}

/** Reads from a cell into a local: the cell's value, its size, or the value of one of its entries.
  *
  * `what` is one of value, size, exists, get, has, first, last; `key` is the text of the entry's key, for the kinds that read one.
  */
final case class ReadText(local: String, cell: String, what: String, key: Option[String], site: Option[String]) extends StatementText

object ReadText {
  private[document] def of(f: Fields): ReadText = ReadText(
    f[String]("local"),
    f[String]("cell"),
    f[String]("what"),
    f.maybe[String]("key"),
    f[Option[String]]("site"))
}

/** Sets the value of a cell, of an entry of a map or of a timer; null clears it. */
final case class SetText(cell: String, value: String, key: Option[String], site: Option[String]) extends StatementText

object SetText {
  private[document] def of(f: Fields): SetText = SetText(
    f[String]("cell"),
    f[String]("value"),
    f.maybe[String]("key"),
    f[Option[String]]("site"))
}

/** Clears a cell's value, an entry of a map or a pending timer; without a key, all entries or timers. */
final case class ClearText(cell: String, key: Option[String], site: Option[String]) extends StatementText

object ClearText {
  private[document] def of(f: Fields): ClearText = ClearText(f[String]("cell"), f.maybe[String]("key"), f[Option[String]]("site"))
}

/** Appends a value to a list. */
final case class AppendText(cell: String, value: String, site: Option[String]) extends StatementText

object AppendText {
  private[document] def of(f: Fields): AppendText = AppendText(f[String]("cell"), f[String]("value"), f[Option[String]]("site"))
}

/** Adds a row to an aggregate. */
final case class AddText(cell: String, row: Seq[(String, String)], site: Option[String]) extends StatementText

object AddText {
  private[document] def of(f: Fields): AddText = AddText(f[String]("cell"), f[Seq[(String, String)]]("row"), f[Option[String]]("site"))
}

/** Defines a local, or assigns it another value. `type` is set if it is declared or known from the first value. */
final case class LetText(local: String, value: String, `type`: Option[String], site: Option[String]) extends StatementText

object LetText {
  private[document] def of(f: Fields): LetText = LetText(
    f[String]("local"),
    f[String]("value"),
    f.maybe[String]("type"),
    f[Option[String]]("site"))
}

/** Executes the statements of the first branch whose condition is true; a branch without condition is `otherwise`.
  *
  * `sites` has the line of each branch if there are several; a single branch has the statement's own line.
  */
final case class WhenText(
    branches: Seq[(Option[String], Seq[StatementText])],
    sites: Option[Seq[Option[String]]],
    site: Option[String])
    extends StatementText

object WhenText {
  private[document] def of(f: Fields): WhenText = WhenText(
    f[Seq[(Option[String], Seq[StatementText])]]("branches"),
    f.maybe[Seq[Option[String]]]("sites"),
    f[Option[String]]("site"))
}

/** Executes its body for each entry of a list or map in order, from `low` (inclusive) to `high` (exclusive).
  *
  * The entry is in the locals `<it>.key`, `<it>.value` and `<it>.index`.
  */
final case class EachText(
    cell: String,
    it: String,
    body: Seq[StatementText],
    low: Option[String],
    high: Option[String],
    reverse: Boolean,
    site: Option[String])
    extends StatementText

object EachText {
  private[document] def of(f: Fields): EachText = EachText(
    f[String]("cell"),
    f[String]("it"),
    f[Seq[StatementText]]("body"),
    f.maybe[String]("low"),
    f.maybe[String]("high"),
    f[Boolean]("reverse"),
    f[Option[String]]("site"))
}

/** Replaces the value of a loop's current entry; without a value the entry is removed. */
final case class ReplaceText(it: String, value: Option[String], site: Option[String]) extends StatementText

object ReplaceText {
  private[document] def of(f: Fields): ReplaceText = ReplaceText(f[String]("it"), f.maybe[String]("value"), f[Option[String]]("site"))
}

/** Emits a row to an output. */
final case class EmitText(output: String, row: Seq[(String, String)], site: Option[String]) extends StatementText

object EmitText {
  private[document] def of(f: Fields): EmitText = EmitText(f[String]("output"), f[Seq[(String, String)]]("row"), f[Option[String]]("site"))
}

/** Ends the handler, undoes its effects, and makes its row a dead letter. */
final case class RejectText(reason: String, site: Option[String]) extends StatementText

object RejectText {
  private[document] def of(f: Fields): RejectText = RejectText(f[String]("reason"), f[Option[String]]("site"))
}
