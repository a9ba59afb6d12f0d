package headrace.kafka

import java.util.{Map => JMap}

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.compress.Compression
import org.apache.kafka.common.record.{MemoryRecords, SimpleRecord}
import org.apache.kafka.common.utils.{ByteUtils, Utils}

/** How large a record may be, which is known before it is sent: `request` is what the producer sends at the most, looked at as the record
  * is; `topic` is what the topic takes, looked at as it is stored, with `compression`.
  *
  * They stand in the marker of an epoch: when its rows come again, those that were put aside are the same, whatever the limits are by then.
  */
private[kafka] final case class Sizes(request: Long, topic: Long, compression: String) {
  import Sizes._

  /** Why a record cannot be sent; null if it can. */
  def broken(record: ProducerRecord[Array[Byte], Array[Byte]]): String = {
    val size = bound(record)
    if (size > request) s"a record of $size bytes is larger than the $request that the producer sends (max.request.size)"
    else if (size <= topic) null
    else {
      val stored = compressed(record)
      if (stored <= topic) null
      else s"a record of $stored bytes is larger than the $topic that the topic takes (max.message.bytes)"
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

  /** Of a producer with these settings, and a topic. */
  def apply(client: JMap[String, String], topic: Option[String]): Sizes = {
    def said(name: String, otherwise: Long) = Option(client.get(name)).flatMap(_.toLongOption).getOrElse(otherwise)
    Sizes(
      math.min(said("max.request.size", 1L << 20), said("buffer.memory", 32L << 20)),
      topic.flatMap(_.toLongOption).getOrElse(Long.MaxValue),
      Option(client.get("compression.type")).getOrElse("none"))
  }

  /** Those that a marker says. */
  def read(words: Map[String, String]): Option[Sizes] =
    for (request <- words.get("request"); topic <- words.get("topic"); compression <- words.get("compression"))
      yield Sizes(request.toLong, topic.toLong, compression)

  /** What the producer takes a record for: alone in its batch, and with the longest timestamp and offset. */
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

  /** Of a batch and of a record in it. */
  private val Overhead = 61L + 21L
}
