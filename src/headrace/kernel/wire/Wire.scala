package headrace.wire

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** The common format of all rows between the stages of a query.
  *
  * `key` identifies the group: 8 bytes of hash (so that the sort has a useful prefix), 4 bytes of consumer, then the key's UnsafeRow.
  * Nothing in it is aligned, so a key row is copied before it is read.
  */
object Wire {
  val schema: StructType = StructType(
    Seq(
      StructField("op", IntegerType, nullable = false),
      StructField("key", BinaryType, nullable = false),
      StructField("side", ByteType, nullable = false),
      StructField("ts", TimestampType),
      StructField("ord", BinaryType),
      StructField("w", LongType, nullable = false),
      StructField("row", BinaryType, nullable = false)))

  val Op = 0
  val Key = 1
  val Side = 2
  val Time = 3
  val Ord = 4
  val Weight = 5
  val Row = 6
  val Fields = 7

  /** The consumer of count rows. */
  val CountOp: Int = -1

  /** The row of a count: one metric of a task. */
  val countSchema: StructType = StructType.fromDDL("source string, op int, side int, metric string, n bigint")

  /** The row of a dead letter. */
  val deadSchema: StructType = StructType.fromDDL("node string, reason string, file string, position bigint, raw string")

  /** A control row at or after this time (year 100000) marks the end of the bounded input, and so does a query's clock. */
  val EndMillis: Long = 3093527980800000L

  /** The time that the clock shows, or showed when the input ended. */
  def calendar(millis: Long): Long = if (millis >= EndMillis) millis - EndMillis else millis

  /** The offset of the key's own row in a group key. */
  val KeyStart = 12

  /** The consumer of a group key. */
  def opOf(key: Array[Byte]): Int =
    ((key(8) & 0xff) << 24) | ((key(9) & 0xff) << 16) | ((key(10) & 0xff) << 8) | (key(11) & 0xff)

  /** The hash at the beginning of a group key. */
  def hashOf(key: Array[Byte]): Long = java.lang.Long.reverseBytes(Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET))

  /** Points `to` to the binary field `ordinal` of a wire row, in place; valid as long as the wire row is. */
  def inside(wire: UnsafeRow, ordinal: Int, to: UnsafeRow): UnsafeRow = {
    val at = wire.getLong(ordinal)
    to.pointTo(wire.getBaseObject, wire.getBaseOffset + (at >>> 32), at.toInt)
    to
  }

  /** Writes hash, consumer and key row. The hash covers the bytes after it. */
  private[wire] def writeKey(op: Int, base: Object, offset: Long, size: Int, to: Array[Byte], at: Int): Unit = {
    val start = Platform.BYTE_ARRAY_OFFSET + at
    to(at + 8) = (op >>> 24).toByte
    to(at + 9) = (op >>> 16).toByte
    to(at + 10) = (op >>> 8).toByte
    to(at + 11) = op.toByte
    if (size > 0) Platform.copyMemory(base, offset, to, start + KeyStart, size)
    val hash = XXH64.hashUnsafeBytes(to, start + 8, size + 4, 42L)
    Platform.putLong(to, start, java.lang.Long.reverseBytes(hash))
  }

  /** Makes the group key of a consumer's key. */
  def groupKey(op: Int, key: UnsafeRow): Array[Byte] = {
    val bytes = new Array[Byte](keySize(key.getSizeInBytes))
    writeKey(op, key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, bytes, 0)
    bytes
  }

  /** Whether this is the key of the group that a partition keeps for all keys of an operator. Key rows have a size that is a multiple of 8;
    * shared keys do not.
    */
  def isShared(key: Array[Byte]): Boolean = ((key.length - KeyStart) & 7) != 0

  /** Finds the keys of an operator's shared groups, by partition: each is hashed to its own partition. Their hash field is 0, so they sort
    * before all other keys.
    */
  def sharedKeys(op: Int, partitions: Int): Array[Array[Byte]] = {
    val keys = new Array[Array[Byte]](partitions)
    var missing = partitions
    var nonce = 0
    while (missing > 0) {
      val key = new Array[Byte](KeyStart + 4)
      Platform.putInt(key, Platform.BYTE_ARRAY_OFFSET + 8, Integer.reverseBytes(op))
      Platform.putInt(key, Platform.BYTE_ARRAY_OFFSET + KeyStart, nonce)
      val partition = partitionOf(key, partitions)
      if (keys(partition) == null) {
        keys(partition) = key
        missing -= 1
      }
      nonce += 1
    }
    keys
  }

  /** The partition to which Spark's exchange sends a group. */
  def partitionOf(key: Array[Byte], partitions: Int): Int =
    Math.floorMod(Murmur3_x86_32.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, 42), partitions)

  /** The same, of the group of a wire row. */
  def partitionOf(wire: UnsafeRow, partitions: Int): Int = {
    val at = wire.getLong(Key)
    Math.floorMod(Murmur3_x86_32.hashUnsafeBytes(wire.getBaseObject, wire.getBaseOffset + (at >>> 32), at.toInt, 42), partitions)
  }

  private[wire] def keySize(size: Int): Int = KeyStart + size
}
