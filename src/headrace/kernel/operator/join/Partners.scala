package headrace.operator.join

import org.apache.spark.unsafe.Platform

/** How many rows of the other side a row matches, and for how many the condition fails, so that a match is unknown.
  *
  * As bytes: 8 with the first number; 16 with both if the condition fails for any.
  */
private[join] final class Partners {
  private var met = 0L
  private var failed = 0L

  val bytes = new Array[Byte](16)

  def clear(): Unit = {
    met = 0L
    failed = 0L
  }

  /** Adds `n`, which may be negative, to the count of such pairs. */
  def add(pair: Int, n: Long): Unit =
    if (pair == Partners.Met) met += n
    else if (pair == Partners.Unknown) failed = math.max(0L, failed + n)

  /** Does the row match any? */
  def answer: Int = if (met > 0) Partners.Met else if (failed > 0) Partners.Unknown else Partners.Alone

  def read(from: AnyRef, offset: Long, size: Int): Unit = {
    met = Platform.getLong(from, offset)
    failed = if (size > 8) Platform.getLong(from, offset + 8) else 0L
  }

  /** Writes the bytes, and returns how many there are. */
  def write(): Int = {
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, met)
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8, failed)
    if (failed == 0) 8 else 16
  }
}

private[join] object Partners {

  /** What is known of two rows, or of a row and the whole other side. */
  val Met = 1
  val Alone = 0
  val Unknown = -1

  def known(met: Boolean): Int = if (met) Met else Alone
}
