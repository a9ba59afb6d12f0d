// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** Steps to check, over the columns of a node. */
final case class AskedStepsText(id: String, site: Option[String], input: String, steps: Seq[StepText])

object AskedStepsText {
  private[document] def of(f: Fields): AskedStepsText = AskedStepsText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("input"),
    f[Seq[StepText]]("steps"))
  implicit val reader: Reader[AskedStepsText] = Reader.of("AskedStepsText")(of)
}

/** An operator of queries to check, over the columns of its inputs; `relation` is its name. */
final case class AskedRelationText(id: String, site: Option[String], relation: String, inputs: Seq[String], text: RelationText)

object AskedRelationText {
  private[document] def of(f: Fields): AskedRelationText = AskedRelationText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("relation"),
    f[Seq[String]]("inputs"),
    RelationText.of(f[String]("relation"), f))
  implicit val reader: Reader[AskedRelationText] = Reader.of("AskedRelationText")(of)
}

/** A lookup to check: both texts of each key, the columns of the table, and its output columns, by their names in the result. */
final case class AskedLookupText(
    id: String,
    site: Option[String],
    relation: String,
    inputs: Seq[String],
    keys: Seq[(String, String)],
    table: String,
    given: Seq[(String, String)])

object AskedLookupText {
  private[document] def of(f: Fields): AskedLookupText = AskedLookupText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("relation"),
    f[Seq[String]]("inputs"),
    f[Seq[(String, String)]]("keys"),
    f[String]("table"),
    f[Seq[(String, String)]]("given"))
  implicit val reader: Reader[AskedLookupText] = Reader.of("AskedLookupText")(of)
}

/** A program to check. */
final case class AskedProgramText(
    name: String,
    site: Option[String],
    kind: String,
    order: String,
    clock: String,
    inputs: Seq[AskedInputText],
    cells: Seq[TracedCellText],
    handlers: Seq[TracedHandlerText],
    outputs: Seq[AskedOutputText])

object AskedProgramText {
  private[document] def of(f: Fields): AskedProgramText = AskedProgramText(
    f[String]("name"),
    f[Option[String]]("site"),
    f[String]("kind"),
    f[String]("order"),
    f[String]("clock"),
    f[Seq[AskedInputText]]("inputs"),
    f[Seq[TracedCellText]]("cells"),
    f[Seq[TracedHandlerText]]("handlers"),
    f[Seq[AskedOutputText]]("outputs"))
  implicit val reader: Reader[AskedProgramText] = Reader.of("AskedProgramText")(of)
}

/** An input of a program to check: the rows of a node, by a key. */
final case class AskedInputText(name: String, side: Int, from: String, key: Seq[(String, String)], broadcast: Boolean)

object AskedInputText {
  private[document] def of(f: Fields): AskedInputText = AskedInputText(
    f[String]("name"),
    f[Int]("side"),
    f[String]("from"),
    f[Seq[(String, String)]]("key"),
    f[Boolean]("broadcast"))
  implicit val reader: Reader[AskedInputText] = Reader.of("AskedInputText")(of)
}

/** One declared piece of keyed state.
  *
  * `type` is the type of its values, `key` that of the keys of a map or timer; for an aggregate, `type` has its input columns and `sql` its
  * expression. `clock` is set for timers and for cells that expire, `expiresMs` after a value was set. `was` is the cell's name in an
  * older version of the job, `computed` the text of its first value over the cells of the previous version.
  */
final case class TracedCellText(
    name: String,
    kind: String,
    `type`: String,
    key: Option[String],
    sql: Option[String],
    expiresMs: Option[Long],
    clock: Option[String],
    was: Option[String],
    computed: Option[String],
    site: Option[String])

object TracedCellText {
  private[document] def of(f: Fields): TracedCellText = TracedCellText(
    f[String]("name"),
    f[String]("kind"),
    f[String]("type"),
    f.maybe[String]("key"),
    f.maybe[String]("sql"),
    f.maybe[Long]("expires_ms"),
    f.maybe[String]("clock"),
    f.maybe[String]("was"),
    f.maybe[String]("computed"),
    f[Option[String]]("site"))
  implicit val reader: Reader[TracedCellText] = Reader.of("TracedCellText")(of)
}

/** An output of a program to check; `time` is its event-time column. */
final case class AskedOutputText(name: String, time: Option[String])

object AskedOutputText {
  private[document] def of(f: Fields): AskedOutputText = AskedOutputText(f[String]("name"), f[Option[String]]("time"))
  implicit val reader: Reader[AskedOutputText] = Reader.of("AskedOutputText")(of)
}
