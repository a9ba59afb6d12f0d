package headrace.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** A map from texts to numbers. It stores 16 bytes per text, half of its SHA-256; no two texts with the same half are known. */
private[source] final class Fingerprints {
  private val digest = MessageDigest.getInstance("SHA-256")
  private var slots = new Array[Long](2 * 1024)
  private var numbers = new Array[Long](1024)
  private var size = 0

  def get(text: String): Option[Long] = {
    val (high, low) = fingerprint(text)
    val at = place(high, low)
    if (slots(at) == 0) None else Some(numbers(at / 2))
  }

  def put(text: String, number: Long): Unit = {
    val (high, low) = fingerprint(text)
    if (put(high, low, number)) size += 1
    if (4L * size > slots.length) grow()
  }

  /** The first half is never 0, which marks an empty slot. */
  private def fingerprint(text: String): (Long, Long) = {
    val bytes = ByteBuffer.wrap(digest.digest(text.getBytes(UTF_8)))
    (bytes.getLong | 1L, bytes.getLong)
  }

  private def put(high: Long, low: Long, number: Long): Boolean = {
    val at = place(high, low)
    val isNew = slots(at) == 0
    slots(at) = high
    slots(at + 1) = low
    numbers(at / 2) = number
    isNew
  }

  /** The slot of a fingerprint, or the free one for it. */
  private def place(high: Long, low: Long): Int = {
    var at = (low & (slots.length / 2 - 1)).toInt * 2
    while (slots(at) != 0 && (slots(at) != high || slots(at + 1) != low)) at = (at + 2) & (slots.length - 1)
    at
  }

  private def grow(): Unit = {
    val (before, numbered) = (slots, numbers)
    slots = new Array[Long](2 * before.length)
    numbers = new Array[Long](before.length)
    before.indices.by(2).foreach(at => if (before(at) != 0) put(before(at), before(at + 1), numbered(at / 2)))
  }
}
