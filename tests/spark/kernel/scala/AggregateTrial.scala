package headrace.operator.aggregate

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

import scala.collection.mutable

import headrace.bind.Bind
import headrace.document.{AggregateText, OperatorText, RelationalText}
import headrace.operator._
import headrace.state.State
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.{Inside, Settings}
import org.apache.spark.sql.types._
import org.json4s._
import org.json4s.jackson.JsonMethods

/** An aggregate over state in memory, epoch by epoch: how it is tried without a streaming query.
  *
  * Rows come as a frame: `_epoch`, `_weight`, then the columns of the input. Request: `{"settings": {}, "operator": {…}, "epochs": n,
  * "restart": bool, "measured": bool}`. `restart`: each epoch has an instance of its own; `measured`: rows are not spoilt once they are
  * read. A global group is called in each epoch, the others where they have rows.
  */
final class AggregateTrial private (session: classic.SparkSession, request: JValue, operator: JValue, frame: classic.DataFrame) {
  import AggregateTrial._

  private val read = OperatorText.reader.read(JsonMethods.asJsonNode(operator), "") match {
    case relational: RelationalText => Relational(relational, relational.relation.asInstanceOf[AggregateText])
    case other => throw new IllegalArgumentException(s"${other.name} is no aggregate")
  }
  private val spec = travelled(Aggregate.build(session, read))
  private val keyOf = UnsafeProjection.create(Bind.expressions(session, read.side(0), read.text.keys.map(_._2)).map(Inside.normalized))
  private val rowOf =
    UnsafeProjection.create(spec.input.fields.zipWithIndex.map { case (f, i) => BoundReference(i + 2, f.dataType, nullable = true) }.toSeq)
  private val kept = mutable.LinkedHashMap.empty[UnsafeRow, Kept]
  private val out = new Gathered(spec)
  private var instance: Operator = spec.instance()
  private val isMeasured = request \ "measured" == JBool(true)

  /** What the operator itself took, without bringing the rows in order. */
  var nanos = 0L

  def keys: Int = kept.size
  def pages: Int = kept.values.map(_.pages.size).sum
  def bytes: Long = kept.values.map(k => (if (k.value == null) 0 else k.value.length) + k.pages.values.map(_.length).sum.toLong).sum

  /** How often the state was read or written. */
  def accesses: Long = kept.values.map(_.accesses).sum

  /** What came out: `_epoch`, `_weight`, `_reason` and `_raw` (of dead letters only), then the columns. */
  def rows: DataFrame = {
    val columns = spec.key.fields.toSeq ++ spec.results.zipWithIndex.map { case (r, i) => StructField(s"r$i", Bind.loosen(r.dataType)) }
    val schema = StructType(headers ++ columns)
    val pack = UnsafeProjection.create(schema)
    Inside.frame(session, session.sparkContext.parallelize(out.rows.map(r => pack(r).copy(): InternalRow).toSeq, 1), schema)
  }

  private def run(): Unit = {
    val all = frame.queryExecution.executedPlan.executeCollect().groupBy(_.getInt(0))
    val JInt(epochs) = request \ "epochs": @unchecked
    (0 until epochs.toInt).foreach { n =>
      if (request \ "restart" == JBool(true)) instance = travelled(spec).instance()
      out.epoch = n
      val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[Tried]]
      if (spec.global) groups(keyOf(InternalRow.empty).copy()) = mutable.ArrayBuffer.empty
      all.getOrElse(n, Array.empty[InternalRow]).foreach { r =>
        val tried = new Tried(rowOf(r).copy(), r.getLong(1))
        groups.getOrElseUpdate(keyOf(tried.from).copy(), mutable.ArrayBuffer.empty) += tried
      }
      groups.values.foreach(_.sortInPlaceWith((a, b) => java.util.Arrays.compareUnsigned(a.from.getBytes, b.from.getBytes) < 0))
      instance.open(Epoch(0L, 0L, flushing = false, Long.MaxValue))
      val begun = System.nanoTime
      groups.foreach { case (key, rows) =>
        val state = kept.getOrElseUpdate(key, new Kept)
        instance.start(key, if (isMeasured) rows.iterator else new Reused(rows.iterator), state, out)
        while (instance.step()) {}
      }
      nanos += System.nanoTime - begun
      instance.close()
      kept.filterInPlace((_, k) => k.value != null || k.pages.nonEmpty)
    }
  }
}

object AggregateTrial {
  def run(session: SparkSession, text: String, frame: DataFrame): AggregateTrial = {
    val request = JsonMethods.parse(text)
    val settings = request \ "settings" match {
      case JObject(fields) => fields.collect { case (name, JString(value)) => name -> value }
      case _ => Nil
    }
    Settings.under(session, settings) {
      val trial =
        new AggregateTrial(session.asInstanceOf[classic.SparkSession], request, request \ "operator", frame.asInstanceOf[classic.DataFrame])
      trial.run()
      trial
    }
  }

  /** The types of aggregates over columns, or `CONDITION: message`. */
  def types(session: SparkSession, ddl: String, texts: String): String = {
    val JArray(all) = JsonMethods.parse(texts): @unchecked
    val results = Aggregate.bound(session, StructType.fromDDL(ddl), all.collect { case JString(text) => text })
    JsonMethods.compact(JArray(results.map(_.fold(e => s"${e.getCondition}: ${e.getMessage}", _.dataType.sql)).map(JString(_)).toList))
  }

  /** As it arrives at an executor. */
  private def travelled(spec: AggregateOperator): AggregateOperator = {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(spec)
    val loader = Thread.currentThread.getContextClassLoader
    val objects = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)) {
      override def resolveClass(c: ObjectStreamClass): Class[_] = Class.forName(c.getName, false, loader)
    }
    objects.readObject().asInstanceOf[AggregateOperator]
  }

  private val headers = Seq(
    StructField("_epoch", IntegerType),
    StructField("_weight", LongType),
    StructField("_reason", StringType),
    StructField("_raw", StringType))

  private final class Tried(val from: UnsafeRow, added: Long) extends Input {
    row = from
    weight = added
    override def ord: Array[Byte] = null
  }

  /** Rows as a level hands them over: one input for all, whose bytes are gone when the next is asked for. */
  private final class Reused(rows: Iterator[Tried]) extends Iterator[Input] {
    private val input = new Tried(null, 0L)
    private var bytes = new Array[Byte](0)

    override def hasNext: Boolean = {
      java.util.Arrays.fill(bytes, '?'.toByte)
      rows.hasNext
    }

    override def next(): Input = {
      val next = rows.next()
      bytes = next.from.getBytes.clone()
      input.row = new UnsafeRow(next.from.numFields)
      input.row.pointTo(bytes, bytes.length)
      input.weight = next.weight
      input
    }
  }

  private final class Kept extends State {
    var value: Array[Byte] = _
    var accesses = 0L
    val pages = mutable.TreeMap.empty[(Int, Long), Array[Byte]]
    override def shared: State = throw new UnsupportedOperationException
    override def get(): Array[Byte] = { accesses += 1; if (value == null) null else value.clone() }
    override def put(value: Array[Byte]): Unit = { accesses += 1; this.value = value }
    override def remove(): Unit = { accesses += 1; value = null }
    override def page(bag: Int, number: Long): Array[Byte] = { accesses += 1; pages.get((bag, number)).map(_.clone()).orNull }
    override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = { accesses += 1; pages((bag, number)) = value }
    override def removePage(bag: Int, number: Long): Unit = { accesses += 1; pages.remove((bag, number)) }
    override def alarm(armed: Long, next: Long): Long = throw new UnsupportedOperationException
  }

  private final class Gathered(spec: AggregateOperator) extends Out {
    val rows = mutable.ArrayBuffer.empty[InternalRow]
    var epoch = 0
    private val width = spec.key.length + spec.results.length

    override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit = {
      val values = new Array[Any](4 + width)
      values(0) = epoch
      values(1) = weight
      if (output == Relational.DeadLetter) {
        values(2) = row.getUTF8String(1).clone()
        values(3) = row.getUTF8String(4).clone()
      } else {
        val types = spec.key.fields.map(_.dataType) ++ spec.results.map(_.dataType)
        types.indices.foreach(i => values(4 + i) = InternalRow.copyValue(if (row.isNullAt(i)) null else row.get(i, types(i))))
      }
      rows += new GenericInternalRow(values)
    }
    override def mark(): Int = rows.size
    override def reset(mark: Int): Unit = rows.dropRightInPlace(rows.size - mark)
    override def count(side: Int, metric: Int, n: Long): Unit = ()
  }
}
