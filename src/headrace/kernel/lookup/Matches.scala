package headrace.lookup

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The bytes of a key, as a key of hash maps. */
final class KeyBytes(val bytes: Array[Byte]) extends Serializable {
  private val hash = java.util.Arrays.hashCode(bytes)
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case k: KeyBytes => k.hash == hash && java.util.Arrays.equals(k.bytes, bytes)
    case _ => false
  }
}

/** The result of a key: the kept columns of the table's rows, or the reason why the row is refused. */
final class Matches(val rows: Array[UnsafeRow], val refused: String) extends Serializable

object Matches {
  val nothing: Matches = new Matches(Array.empty, null)
}
