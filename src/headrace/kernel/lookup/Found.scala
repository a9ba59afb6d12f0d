package headrace.lookup

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The bytes of a key, to be found by. */
final class KeyBytes(val bytes: Array[Byte]) extends Serializable {
  private val hash = java.util.Arrays.hashCode(bytes)
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case k: KeyBytes => k.hash == hash && java.util.Arrays.equals(k.bytes, bytes)
    case _ => false
  }
}

/** What was found for a key: the columns of the table's rows that go on, or why it could not be asked for. */
final class Found(val rows: Array[UnsafeRow], val refused: String) extends Serializable

object Found {
  val nothing: Found = new Found(Array.empty, null)
}
