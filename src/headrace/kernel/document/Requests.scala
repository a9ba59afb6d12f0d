// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** Steps to check, over the columns of a node. */
final case class StepsRequestText(id: String, site: Option[String], input: String, steps: Seq[StepText])

object StepsRequestText {
  private[document] def of(f: Fields): StepsRequestText = StepsRequestText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("input"),
    f[Seq[StepText]]("steps"))
  implicit val reader: Reader[StepsRequestText] = Reader.of("StepsRequestText")(of)
}

/** An operator of queries to check, over the columns of its inputs; `relation` is its name. */
final case class RelationRequestText(id: String, site: Option[String], relation: String, inputs: Seq[String], text: RelationText)

object RelationRequestText {
  private[document] def of(f: Fields): RelationRequestText = RelationRequestText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("relation"),
    f[Seq[String]]("inputs"),
    RelationText.of(f[String]("relation"), f))
  implicit val reader: Reader[RelationRequestText] = Reader.of("RelationRequestText")(of)
}

/** A lookup to check: both texts of each key, the columns of the table, and its output columns, by their names in the result. */
final case class LookupRequestText(
    id: String,
    site: Option[String],
    relation: String,
    inputs: Seq[String],
    keys: Seq[(String, String)],
    table: String,
    given: Seq[(String, String)])

object LookupRequestText {
  private[document] def of(f: Fields): LookupRequestText = LookupRequestText(
    f[String]("id"),
    f[Option[String]]("site"),
    f[String]("relation"),
    f[Seq[String]]("inputs"),
    f[Seq[(String, String)]]("keys"),
    f[String]("table"),
    f[Seq[(String, String)]]("given"))
  implicit val reader: Reader[LookupRequestText] = Reader.of("LookupRequestText")(of)
}

/** A program to check. */
final case class ProgramRequestText(
    name: String,
    site: Option[String],
    kind: String,
    order: String,
    clock: String,
    inputs: Seq[InputRequestText],
    cells: Seq[TracedCellText],
    handlers: Seq[TracedHandlerText],
    outputs: Seq[OutputRequestText])

object ProgramRequestText {
  private[document] def of(f: Fields): ProgramRequestText = ProgramRequestText(
    f[String]("name"),
    f[Option[String]]("site"),
    f[String]("kind"),
    f[String]("order"),
    f[String]("clock"),
    f[Seq[InputRequestText]]("inputs"),
    f[Seq[TracedCellText]]("cells"),
    f[Seq[TracedHandlerText]]("handlers"),
    f[Seq[OutputRequestText]]("outputs"))
  implicit val reader: Reader[ProgramRequestText] = Reader.of("ProgramRequestText")(of)
}

/** An input of a program to check: the rows of a node, by a key. */
final case class InputRequestText(name: String, side: Int, from: String, key: Seq[(String, String)], broadcast: Boolean)

object InputRequestText {
  private[document] def of(f: Fields): InputRequestText = InputRequestText(
    f[String]("name"),
    f[Int]("side"),
    f[String]("from"),
    f[Seq[(String, String)]]("key"),
    f[Boolean]("broadcast"))
  implicit val reader: Reader[InputRequestText] = Reader.of("InputRequestText")(of)
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
final case class OutputRequestText(name: String, time: Option[String])

object OutputRequestText {
  private[document] def of(f: Fields): OutputRequestText = OutputRequestText(f[String]("name"), f[Option[String]]("time"))
  implicit val reader: Reader[OutputRequestText] = Reader.of("OutputRequestText")(of)
}
