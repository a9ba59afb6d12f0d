package headrace.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** A set of texts that keeps 16 bytes of each: half of its SHA-256, by which no two texts are known to be alike. */
private[source] final class Fingerprints {
  private val digest = MessageDigest.getInstance("SHA-256")
  private var slots = new Array[Long](2 * 1024)
  private var size = 0

  def contains(text: String): Boolean = {
    val (high, low) = fingerprint(text)
    slots(place(high, low)) != 0
  }

  def add(text: String): Unit = {
    val (high, low) = fingerprint(text)
    if (put(high, low)) size += 1
    if (4L * size > slots.length) grow()
  }

  /** The first half is never 0, which marks an empty place. */
  private def fingerprint(text: String): (Long, Long) = {
    val bytes = ByteBuffer.wrap(digest.digest(text.getBytes(UTF_8)))
    (bytes.getLong | 1L, bytes.getLong)
  }

  private def put(high: Long, low: Long): Boolean = {
    val at = place(high, low)
    val isNew = slots(at) == 0
    slots(at) = high
    slots(at + 1) = low
    isNew
  }

  /** Where a fingerprint lies, or would lie. */
  private def place(high: Long, low: Long): Int = {
    var at = (low & (slots.length / 2 - 1)).toInt * 2
    while (slots(at) != 0 && (slots(at) != high || slots(at + 1) != low)) at = (at + 2) & (slots.length - 1)
    at
  }

  private def grow(): Unit = {
    val before = slots
    slots = new Array[Long](2 * before.length)
    before.indices.by(2).foreach(at => if (before(at) != 0) put(before(at), before(at + 1)))
  }
}
