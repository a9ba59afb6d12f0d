// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** The part of an operator of queries that the check and the kernel read: its texts, without types and routes. */
sealed trait RelationText

object RelationText {
  private[document] def of(kind: String, f: Fields): RelationText = kind match {
    case "aggregate" => AggregateText.of(f)
    case "consolidate" => ConsolidateText.of(f)
    case "heavy_hitters" => HeavyHittersText.of(f)
    case "join" => JoinText.of(f)
    case "join_asof" => AsOfText.of(f)
    case "ledger" => LedgerText.of(f)
    case "partition" => PartitionText.of(f)
    case "sessions" => SessionsText.of(f)
    case "temporal" => TemporalText.of(f)
    case "top" => TopText.of(f)
    case "upserts" => UpsertsText.of(f)
    case other => throw f.noKind("RelationText", other)
  }
}

/** The names and texts of keys and aggregates. With `global` there are no keys, but one group, even without rows. */
final case class AggregateText(keys: Seq[(String, String)], aggregates: Seq[(String, String)], global: Boolean) extends RelationText

object AggregateText {
  private[document] def of(f: Fields): AggregateText = AggregateText(
    f[Seq[(String, String)]]("keys"),
    f[Seq[(String, String)]]("aggregates"),
    f[Boolean]("global"))
}

/** An operator without texts. */
final case class ConsolidateText() extends RelationText

object ConsolidateText {
  private[document] def of(f: Fields): ConsolidateText = ConsolidateText()
}

/** The number of values in the result, and the number of counters. */
final case class HeavyHittersText(k: Long, counters: Long) extends RelationText

object HeavyHittersText {
  private[document] def of(f: Fields): HeavyHittersText = HeavyHittersText(f[Long]("k"), f[Long]("counters"))
}

/** Both texts of each key, the additional condition, and the column that shows whether a row has a match (`existence`). */
final case class JoinText(how: String, keys: Seq[(String, String)], condition: Option[String], mark: Option[String]) extends RelationText

object JoinText {
  private[document] def of(f: Fields): JoinText = JoinText(
    f[String]("how"),
    f[Seq[(String, String)]]("keys"),
    f[Option[String]]("condition"),
    f[Option[String]]("mark"))
}

/** Both texts of each key, and both times; `withinUs` is null if the distance to a version is unlimited. */
final case class AsOfText(
    how: String,
    keys: Seq[(String, String)],
    time: (String, String),
    direction: String,
    withinUs: Option[Long],
    shared: Seq[String],
    emit: String,
    clock: String)
    extends RelationText

object AsOfText {
  private[document] def of(f: Fields): AsOfText = AsOfText(
    f[String]("how"),
    f[Seq[(String, String)]]("keys"),
    f[(String, String)]("time"),
    f[String]("direction"),
    f[Option[Long]]("within_us"),
    f[Seq[String]]("shared"),
    f[String]("emit"),
    f[String]("clock"))
}

/** An operator without texts. */
final case class LedgerText() extends RelationText

object LedgerText {
  private[document] def of(f: Fields): LedgerText = LedgerText()
}

/** The expressions of the partition and its order, and the names and texts of the functions. */
final case class PartitionText(
    per: Seq[String],
    order: Seq[(String, String, String)],
    functions: Seq[(String, String)])
    extends RelationText

object PartitionText {
  private[document] def of(f: Fields): PartitionText = PartitionText(
    f[Seq[String]]("per"),
    f[Seq[(String, String, String)]]("order"),
    f[Seq[(String, String)]]("functions"))
}

/** The key of sessions, the times of a row's span, the names of the added columns, and when rows are sent.
  *
  * A span ends `gapUs` after its begin, or at the time `until`; the other one is null.
  */
final case class SessionsText(
    per: Seq[String],
    time: String,
    gapUs: Option[Long],
    until: Option[String],
    names: Seq[String],
    emit: String)
    extends RelationText

object SessionsText {
  private[document] def of(f: Fields): SessionsText = SessionsText(
    f[Seq[String]]("per"),
    f[String]("time"),
    f[Option[Long]]("gap_us"),
    f[Option[String]]("until"),
    f[Seq[String]]("names"),
    f[String]("emit"))
}

/** The times from which on a row is shown, and the times until which it is. */
final case class TemporalText(since: Seq[String], until: Seq[String]) extends RelationText

object TemporalText {
  private[document] def of(f: Fields): TemporalText = TemporalText(f[Seq[String]]("since"), f[Seq[String]]("until"))
}

/** The texts of the partition and its order, and the rows to keep; `count` is null to keep all rows after the offset. */
final case class TopText(
    per: Seq[String],
    order: Seq[(String, String, String)],
    count: Option[Long],
    offset: Long,
    ties: String)
    extends RelationText

object TopText {
  private[document] def of(f: Fields): TopText = TopText(
    f[Seq[String]]("per"),
    f[Seq[(String, String, String)]]("order"),
    f[Option[Long]]("count"),
    f[Long]("offset"),
    f[String]("ties"))
}

/** The columns of the key, and how its rows replace each other; with `unique`, a key cannot have two rows. */
final case class UpsertsText(by: Seq[String], last: Boolean, pairs: Boolean, unique: Boolean, replaces: Boolean) extends RelationText

object UpsertsText {
  private[document] def of(f: Fields): UpsertsText = UpsertsText(
    f[Seq[String]]("by"),
    f[Boolean]("last"),
    f[Boolean]("pairs"),
    f[Boolean]("unique"),
    f[Boolean]("replaces"))
}
