package headrace.kafka

import scala.collection.mutable

import headrace.source.{LineParser, LineSpec}
import org.apache.spark.unsafe.types.UTF8String
import org.sparkproject.spark_core.protobuf.CodedInputStream
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, FileDescriptor}

/** Protobuf after the id of its file in a registry and the position of its message in the file. */
final class ProtobufLines(spec: LineSpec) extends RegisteredLines(spec, "PROTOBUF") {
  private val files = mutable.HashMap.empty[Int, FileDescriptor]
  private val readers = mutable.HashMap.empty[(Int, Seq[Int]), ProtoReader]

  override protected def parse(record: Array[Byte], id: Int, schema: Registry.Schema, file: UTF8String, position: Long): Int = {
    val (place, start) = MessagePlace.read(record, Registry.Start)
    val reader = readers.getOrElseUpdate((id, place), {
      val described = files.getOrElseUpdate(id, ProtoFiles.of(schema.text, schema.files))
      new ProtoReader(MessagePlace.message(described, place), spec.schema)
    })
    parsed = reader.read(record, start)
    LineParser.Row
  }
}

/** Protobuf without a registry, with the message of the user's file (the options `descriptor` and `message`). */
final class MessageLines(spec: LineSpec) extends LineParser(spec) {
  private val reader = new ProtoReader(Messages.find(spec.options), spec.schema)

  override protected def parse(record: Array[Byte], file: UTF8String, position: Long): Int = {
    parsed = reader.read(record, 0)
    LineParser.Row
  }

  override def raw: UTF8String = RegisteredLines.shown(bytes)
}

/** The message of its file that a record is, in the record's prefix: a count and that many numbers, each the position of a message within
  * the previous one; a single zero is the first message.
  */
private[kafka] object MessagePlace {
  private val Deepest = 100

  /** Reads the position, and the start of the message. */
  def read(record: Array[Byte], from: Int): (Seq[Int], Int) = {
    val in = CodedInputStream.newInstance(record, from, record.length - from)
    val count = in.readSInt32()
    if (count < 0 || count > Deepest) throw new IllegalArgumentException("it does not say which message it is")
    (if (count == 0) Seq(0) else Seq.fill(count)(in.readSInt32()), from + in.getTotalBytesRead)
  }

  def message(file: FileDescriptor, place: Seq[Int]): Descriptor = {
    def at(all: java.util.List[Descriptor], i: Int) =
      if (i >= 0 && i < all.size) all.get(i) else throw new IllegalArgumentException(s"the file has no message ${place.mkString(", ")}")
    place.tail.foldLeft(at(file.getMessageTypes, place.head))((outer, i) => at(outer.getNestedTypes, i))
  }

  /** The position of a message, outermost first. */
  def of(message: Descriptor): Seq[Int] =
    Iterator.iterate(message)(_.getContainingType).takeWhile(_ != null).map(_.getIndex).toSeq.reverse
}
