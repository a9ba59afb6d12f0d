package users

import org.apache.spark.sql.{Encoder, Encoders, Row, SparkSession}
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.expressions.{Aggregator, MutableAggregationBuffer, UserDefinedAggregateFunction}
import org.apache.spark.sql.functions.{udaf, udf}
import org.apache.spark.sql.types._

/** The geometric mean of the numbers that are not null. */
class GeometricMean extends UserDefinedAggregateFunction {
  override def inputSchema: StructType = StructType(Seq(StructField("x", DoubleType)))
  override def bufferSchema: StructType = StructType(Seq(StructField("product", DoubleType), StructField("count", LongType)))
  override def dataType: DataType = DoubleType
  override def deterministic: Boolean = true
  override def initialize(buffer: MutableAggregationBuffer): Unit = {
    buffer(0) = 1.0
    buffer(1) = 0L
  }
  override def update(buffer: MutableAggregationBuffer, input: Row): Unit = if (!input.isNullAt(0)) {
    if (input.getDouble(0) < 0) throw new ArithmeticException("a number below 0")
    buffer(0) = buffer.getDouble(0) * input.getDouble(0)
    buffer(1) = buffer.getLong(1) + 1
  }
  override def merge(buffer: MutableAggregationBuffer, other: Row): Unit = {
    buffer(0) = buffer.getDouble(0) * other.getDouble(0)
    buffer(1) = buffer.getLong(1) + other.getLong(1)
  }
  override def evaluate(buffer: Row): Any =
    if (buffer.getLong(1) == 0) null else math.pow(buffer.getDouble(0), 1.0 / buffer.getLong(1))
}

/** Two columns in the order in which they come, as an array of structs. */
class Listed extends UserDefinedAggregateFunction {
  private val pair = StructType(Seq(StructField("n", IntegerType), StructField("x", StringType)))
  override def inputSchema: StructType = pair
  override def bufferSchema: StructType = StructType(Seq(StructField("all", ArrayType(pair))))
  override def dataType: DataType = ArrayType(pair)
  override def deterministic: Boolean = true
  override def initialize(buffer: MutableAggregationBuffer): Unit = buffer(0) = Seq.empty[Row]
  override def update(buffer: MutableAggregationBuffer, input: Row): Unit = buffer(0) = buffer.getSeq[Row](0) :+ input
  override def merge(buffer: MutableAggregationBuffer, other: Row): Unit = buffer(0) = buffer.getSeq[Row](0) ++ other.getSeq[Row](0)
  override def evaluate(buffer: Row): Any = buffer.getSeq[Row](0)
}

class Chance extends GeometricMean {
  override def deterministic: Boolean = false
}

class Shout extends UDF1[String, String] {
  override def call(text: String): String = if (text == null) "?" else s"${text.toUpperCase}!"
}

case class LongestText(text: String, letters: Seq[String], count: Long)

/** The longest text and its letters; of several the least one. And how many texts there are, without nulls. */
object Longest extends Aggregator[String, (String, Long), LongestText] {
  override def zero: (String, Long) = (null, 0L)
  override def reduce(buffer: (String, Long), text: String): (String, Long) = if (text == null) buffer else merge(buffer, (text, 1L))
  override def merge(a: (String, Long), b: (String, Long)): (String, Long) = (longer(a._1, b._1), a._2 + b._2)
  override def finish(buffer: (String, Long)): LongestText = LongestText(buffer._1, Option(buffer._1).toSeq.flatMap(_.map(_.toString)), buffer._2)
  override def bufferEncoder: Encoder[(String, Long)] = Encoders.product
  override def outputEncoder: Encoder[LongestText] = Encoders.product

  private def longer(a: String, b: String): String =
    if (a == null || b != null && (b.length > a.length || b.length == a.length && b < a)) b else a
}

/** Adds a number to each. */
final class Sum(add: Int) extends Aggregator[Int, Long, Long] {
  override def zero: Long = 0L
  override def reduce(buffer: Long, n: Int): Long = buffer + n + add
  override def merge(a: Long, b: Long): Long = a + b
  override def finish(buffer: Long): Long = buffer
  override def bufferEncoder: Encoder[Long] = Encoders.scalaLong
  override def outputEncoder: Encoder[Long] = Encoders.scalaLong
}

object Functions {
  def register(session: SparkSession): Unit = {
    session.udf.register("longest", udaf(Longest, Encoders.STRING))
    session.udf.register("sum_of_more", udaf(new Sum(1), Encoders.scalaInt))
    session.udf.register("thrice", udf((n: Int) => n * 3))
    session.udf.register("dice", udf(() => 4).asNondeterministic())
    session.udf.register("sum", udaf(new Sum(1), Encoders.scalaInt))
  }
}
