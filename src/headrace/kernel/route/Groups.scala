package headrace.route

import headrace.letter.Failure
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow, XXH64}

/** The groups of the consumer that a route's row goes to. */
private[route] abstract class Groups {

  /** The key of the row's group; null if it has none, or if it goes to `each`. */
  var key: UnsafeRow = _

  /** The whole keys of the groups that every row goes to; null if a row goes to one group. */
  def each: Array[Array[Byte]] = null

  /** The number of times the consumer counts the row. */
  def counted: Int = 1

  /** Whether a row of weight n is sent n times, because the consumer does not support weights. */
  def repeats: Boolean = true

  /** Finds the row's group. Returns null, or the reason why it has none. */
  def of(row: UnsafeRow): String = null

  def open(partition: Int): Unit = ()
}

private[route] object Groups {

  def apply(route: Route): Groups = route.delivery match {
    case Delivery.None => new Groups {}
    case Delivery.Place(key) => new OfKeys(key, nulls = true, repeats = true)
    case Delivery.Keys(key, nulls) => new OfKeys(key, nulls, repeats = !nulls)
    case Delivery.Rows => new OfRows
    case Delivery.Shard(count) => new OfShard(count)
    case Delivery.Shards(count) => new Fixed(shards(count).map(Wire.groupKey(route.to, _)), count, repeats = false)
    // Every partition gets the row; one of them counts it.
    case Delivery.Shared(partitions) => new Fixed(Wire.sharedKeys(route.to, partitions), 1, repeats = true)
  }

  private def shards(count: Int): Array[UnsafeRow] = Array.tabulate(count) { i =>
    val row = UnsafeRow.createFromByteArray(16, 1)
    row.setInt(0, i)
    row
  }

  private final class OfKeys(columns: Seq[Expression], nulls: Boolean, override val repeats: Boolean) extends Groups {
    private val keyOf = UnsafeProjection.create(columns)
    override def open(partition: Int): Unit = keyOf.initialize(partition)
    override def of(row: UnsafeRow): String =
      try {
        key = keyOf(row)
        if (!nulls && key.anyNull) "NULL_KEY: a key column is null" else null
      } catch { case e: Throwable if Failure.ofRow(e) => Failure.reason(e) }
  }

  private final class OfRows extends Groups {
    override def repeats: Boolean = false
    override def of(row: UnsafeRow): String = {
      key = row
      null
    }
  }

  private final class OfShard(count: Int) extends Groups {
    private val all = shards(count)
    override def repeats: Boolean = false
    override def of(row: UnsafeRow): String = {
      // Equal rows always go to the same shard.
      val hash = XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, 17L)
      key = all(Math.floorMod(hash, count.toLong).toInt)
      null
    }
  }

  private final class Fixed(override val each: Array[Array[Byte]], override val counted: Int, override val repeats: Boolean)
      extends Groups
}
