package headrace.wire

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Trials of rows that become one on their way, without Spark, each named on the command line with its numbers. Fails with the seed. */
object CombinedTrial {
  def main(args: Array[String]): Unit = args.toList match {
    case List("random", first, number) =>
      (first.toLong until first.toLong + number.toInt).foreach { seed =>
        try random(new Random(seed))
        catch { case e: Throwable => throw new AssertionError(s"seed $seed: $e", e) }
      }
    case List("pays") => pays()
    case other => throw new IllegalArgumentException(other.mkString(" "))
  }

  /** A row on its way: consumer, side, key, text (none: null) and whether an order is asked for. */
  private final case class Sent(op: Int, side: Byte, key: Int, text: Option[String], hasOrder: Boolean)

  private val keyOf = UnsafeProjection.create(StructType.fromDDL("k int"))
  private val rowOf = UnsafeProjection.create(StructType.fromDDL("k int, s string"))
  private val noOrder = new OrderBytes

  private def send(to: Combined, sent: Sent, weight: Long): Boolean = {
    val at = to.rows.mark()
    val row = rowOf(InternalRow(sent.key, sent.text.map(UTF8String.fromString).orNull))
    to.rows.put(sent.op, keyOf(InternalRow(sent.key)), sent.side, hasTime = false, 0L, if (sent.hasOrder) noOrder else null, weight, row)
    to.gather(at)
  }

  private def read(wire: UnsafeRow): Sent = {
    val row = Wire.inside(wire, Wire.Row, new UnsafeRow(2))
    val text = if (row.isNullAt(1)) None else Some(row.getUTF8String(1).toString)
    Sent(wire.getInt(Wire.Op), wire.getByte(Wire.Side), row.getInt(0), text, !wire.isNullAt(Wire.Ord))
  }

  /** What goes on is the net of what came; between two times that all have gone on, each row is there once. */
  private def random(rng: Random): Unit = {
    val combined = new Combined
    val expected, found = mutable.Map.empty[Sent, Long].withDefaultValue(0L)
    val keys = 1 + rng.nextInt(if (rng.nextInt(4) == 0) 20000 else 300)
    val longest = if (rng.nextInt(8) == 0) 3000 else 20
    var since = mutable.Map.empty[Sent, Long].withDefaultValue(0L)
    val out = new WireBuffer

    def settle(): Unit = {
      val times = combined.settle(out)
      require(times == since.values.map(math.abs).sum, s"$times rows, not ${since.values.map(math.abs).sum}")
      val seen = mutable.Set.empty[Sent]
      while (out.nonEmpty) {
        val wire = out.next()
        require(wire.getLong(Wire.Weight) != 0 && seen.add(read(wire)), s"${read(wire)} once more")
        found(read(wire)) += wire.getLong(Wire.Weight)
      }
      since = mutable.Map.empty[Sent, Long].withDefaultValue(0L)
    }

    (0 until rng.nextInt(30000)).foreach { _ =>
      val key = rng.nextInt(keys)
      val text = if (key % 5 == 0) None else Some("x" * (key % longest))
      val sent = Sent(1 + rng.nextInt(2), rng.nextInt(2).toByte, key, text, rng.nextBoolean())
      val weight = if (rng.nextInt(3) == 0) -1L else 1L + rng.nextInt(2)
      expected(sent) += weight
      since(sent) += weight
      if (send(combined, sent, weight)) settle()
    }
    settle()
    val wanted = expected.filter(_._2 != 0)
    require(found.filter(_._2 != 0) == wanted, "the net differs")
  }

  /** Given up where rows differ, and tried anew by the next task; kept where one in five has been there. */
  private def pays(): Unit = {
    val combined = new Combined
    def after(rows: Int, distinct: Int): Boolean = {
      combined.clear()
      val out = new WireBuffer
      (0 until rows).foreach(i => if (send(combined, Sent(1, 0, i % distinct, None, hasOrder = false), 1L)) combined.settle(out))
      combined.settle(out)
      combined.pays
    }
    require(!after(10000, 10000) && !after(1000, 900) && after(1000, 790) && after(100, 100))
  }
}
