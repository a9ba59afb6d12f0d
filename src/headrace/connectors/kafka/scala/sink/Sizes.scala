package headrace.kafka

import java.util.{Map => JMap}

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.compress.Compression
import org.apache.kafka.common.record.{MemoryRecords, SimpleRecord}
import org.apache.kafka.common.utils.{ByteUtils, Utils}

/** The limits for the size of a record, checked before it is sent: `request` is the producer's limit for the record as it is, `topic` the
  * topic's limit for the record as stored, with `compression`.
  *
  * The marker of an epoch contains them: when its rows are replayed, the same rows are set aside, even if the limits have changed.
  */
private[kafka] final case class Sizes(request: Long, topic: Long, compression: String) {
  import Sizes._

  /** Why a record cannot be sent; null if it can. */
  def broken(record: ProducerRecord[Array[Byte], Array[Byte]]): String = {
    val size = bound(record)
    if (size > request) s"a record of $size bytes is larger than the producer's limit of $request (max.request.size)"
    else if (size <= topic) null
    else {
      val stored = compressed(record)
      if (stored <= topic) null
      else s"a record of $stored bytes is larger than the topic's limit of $topic (max.message.bytes)"
    }
  }

  private def compressed(record: ProducerRecord[Array[Byte], Array[Byte]]): Long = {
    val alone = new SimpleRecord(0L, record.key, record.value, record.headers.toArray)
    MemoryRecords.withRecords(Compression.of(compression).build(), alone).sizeInBytes.toLong
  }

  override def toString: String = s"request=$request topic=$topic compression=$compression"
}

private[kafka] object Sizes {
  val none: Sizes = Sizes(Long.MaxValue, Long.MaxValue, "none")

  /** The sizes for a producer with these settings, and a topic. */
  def apply(client: JMap[String, String], topic: Option[String]): Sizes = {
    def setting(name: String, otherwise: Long) = Option(client.get(name)).flatMap(_.toLongOption).getOrElse(otherwise)
    Sizes(
      math.min(setting("max.request.size", 1L << 20), setting("buffer.memory", 32L << 20)),
      topic.flatMap(_.toLongOption).getOrElse(Long.MaxValue),
      Option(client.get("compression.type")).getOrElse("none"))
  }

  /** The sizes in a marker. */
  def read(words: Map[String, String]): Option[Sizes] =
    for (request <- words.get("request"); topic <- words.get("topic"); compression <- words.get("compression"))
      yield Sizes(request.toLong, topic.toLong, compression)

  /** The producer's estimate of a record: alone in its batch, with the longest timestamp and offset. */
  private def bound(record: ProducerRecord[Array[Byte], Array[Byte]]): Long = {
    val headers = record.headers.toArray
    var size = Overhead + long(record.key) + long(record.value) + ByteUtils.sizeOfVarint(headers.length)
    var i = 0
    while (i < headers.length) {
      val name = Utils.utf8Length(headers(i).key)
      size += ByteUtils.sizeOfVarint(name) + name + long(headers(i).value)
      i += 1
    }
    size
  }

  private def long(bytes: Array[Byte]): Long = if (bytes == null) 1L else ByteUtils.sizeOfVarint(bytes.length) + bytes.length.toLong

  /** The overhead of a batch and of a record in it. */
  private val Overhead = 61L + 21L
}
