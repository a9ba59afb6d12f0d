// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** The end of an operator's groups or rows. `late` are its outputs for late rows, each with the side whose rows it takes. */
sealed trait EndingText {
  def late: Map[String, Int]
}

object EndingText {
  private[document] def maybe(f: Fields): Option[EndingText] =
    if (f.has("closes")) Some(ClosesText.of(f))
    else if (f.has("expires_us")) Some(ExpiresText.of(f))
    else if (f.has("interval")) Some(NearText.of(f))
    else None
  private[document] def of(f: Fields): EndingText = maybe(f).getOrElse(throw f.noKind("EndingText"))
  implicit val reader: Reader[EndingText] = Reader.of("EndingText")(of(_: Fields))
}

/** Groups close at a time, which `closes` computes from the key; `emit` is when their result is sent: on changes, early or once.
  *
  * With `earlyMs`, changes are sent at multiples of that until the time `ends`. `by` is the clock; by default the watermark.
  */
final case class ClosesText(
    closes: String,
    late: Map[String, Int],
    emit: String,
    earlyMs: Option[Long],
    ends: Option[String],
    by: Option[String])
    extends EndingText

object ClosesText {
  private[document] def of(f: Fields): ClosesText = ClosesText(
    f[String]("closes"),
    f[Map[String, Int]]("late"),
    f[String]("emit"),
    f.maybe[Long]("early_ms"),
    f.maybe[String]("ends"),
    f.maybe[String]("by"))
}

/** Groups are forgotten after no row has arrived for this long. */
final case class ExpiresText(expiresUs: Long, late: Map[String, Int]) extends EndingText

object ExpiresText {
  private[document] def of(f: Fields): ExpiresText = ExpiresText(f[Long]("expires_us"), f[Map[String, Int]]("late"))
}

/** The rows of a join end one by one, when they can have no more matches; `emit` is when a row without a match is sent. */
final case class NearText(interval: IntervalText, late: Map[String, Int], emit: String) extends EndingText

object NearText {
  private[document] def of(f: Fields): NearText = NearText(f[IntervalText]("interval"), f[Map[String, Int]]("late"), f[String]("emit"))
}
