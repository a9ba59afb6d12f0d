package headrace.connectors.http

import java.io.StringWriter
import java.net.URLEncoder
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import headrace.letter.{Failure, TimeFormats}
import headrace.lookup.{Answer, LookupStage, Unanswerable}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, EvalMode, Expression, GenericInternalRow, JsonToStructs, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.headrace.{Inside, JsonText}
import org.apache.spark.sql.types.{ArrayType, DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Looks up a server's rows: one key at a time, in the address, or many keys in a POST body. */
final class HttpLookup(name: String, key: StructType, table: StructType, options: Map[String, String], timeZone: String) extends LookupStage {
  private val url = options("url")
  private val posts = options("method") == "POST"
  private val at = Iterator.from(0).map(i => options.get(s"at.$i")).takeWhile(_.isDefined).map(_.get).toSeq
  private val address = Address(url)
  private var exchange: Exchange = _

  private val texts = projected(key.indices.map(i => cast(i, key(i).dataType, StringType)))
  private val same = projected(key.indices.map(i => Inside.normalized(BoundReference(i, key(i).dataType, nullable = true))))
  private val keyOf = projected(key.map(field => Inside.normalized(cast(table.fieldIndex(field.name), table(field.name).dataType, field.dataType))))
  // The columns of the key, in the types of the table's columns.
  private val known = projected(key.map(field => cast(key.fieldIndex(field.name), field.dataType, table(field.name).dataType)))
  private val rows = reader(table)
  private val keys = reader(StructType(key.map(field => table(field.name))))
  private val ofKeys = projected(key.indices.map(i => Inside.normalized(cast(i, table(key(i).name).dataType, key(i).dataType))))
  private val unsafe = ThreadLocal.withInitial[UnsafeProjection](() => UnsafeProjection.create(table))

  override def open(): Unit = exchange = new Exchange(s"${options("method")} ${url.takeWhile(_ != '?')}", options)

  override def ask(keys: Array[InternalRow]): Array[Answer] =
    try if (posts) posted(keys) else keys.map(one)
    catch {
      case e: NoItems => throw new Unanswerable(exchange.shown(e.getMessage))
      // The server refuses one of the keys: separate requests find which one.
      case e: BadRequest => if (keys.length == 1) Array(Answer(Nil, e.getMessage)) else keys.flatMap(each => ask(Array(each)))
    }

  private def one(wanted: InternalRow): Answer = {
    val parts = texts.get()(wanted)
    val words = key.indices.map(i => key(i).name -> parts.getUTF8String(i).toString).toMap
    address.of(words) match {
      case Left(reason) => Answer(Nil, reason)
      case Right(place) =>
        val items = exchange.get(place).toSeq.flatMap(Items(_, at))
        try Answer(items.map(read(_, wanted)).filter(row => equal(keyOf.get()(row), wanted)))
        catch { case e: Throwable if Failure.ofRow(e) => Answer(Nil, Failure.reason(e)) }
    }
  }

  private def posted(wanted: Array[InternalRow]): Array[Answer] = {
    val places = new java.util.HashMap[Seq[Byte], Int]
    wanted.indices.foreach(i => places.put(same.get()(wanted(i)).getBytes.toSeq, i))
    val byKey = Array.fill(wanted.length)(mutable.ArrayBuffer.empty[InternalRow])
    val refused = new Array[String](wanted.length)
    Items(exchange.post(url, body(wanted)), at).foreach { item =>
      val of = keyed(item)
      // Rows of other keys are dropped.
      if (!of.anyNull) Option(places.get(of.getBytes.toSeq)).foreach { i =>
        try byKey(i) += read(item, null)
        catch { case e: Throwable if Failure.ofRow(e) => refused(i) = Failure.reason(e) }
      }
    }
    byKey.indices.map(i => if (refused(i) == null) Answer(byKey(i).toSeq) else Answer(Nil, refused(i))).toArray
  }

  /** The keys as a JSON list of objects. */
  private def body(wanted: Array[InternalRow]): String = {
    val out = new StringWriter
    new JsonText(ArrayType(key), TimeFormats.Whole, timeZone).to(out).write(new GenericArrayData(wanted.toArray[Any]))
    out.toString
  }

  private def keyed(item: String): UnsafeRow =
    try ofKeys.get()(keys.get()(item))
    catch { case e: Throwable if Failure.ofRow(e) => throw new NoItems(s"the response has an object without the key: ${Failure.reason(e)}") }

  /** The row of an object; columns of the key that it lacks get the value of the requested key. */
  private def read(item: String, wanted: InternalRow): InternalRow = {
    val parsed = rows.get()(item)
    if (wanted == null || key.forall(field => !parsed.isNullAt(table.fieldIndex(field.name)))) unsafe.get()(parsed).copy()
    else {
      val row = new GenericInternalRow(table.indices.map(i => parsed.get(i, table(i).dataType)).toArray[Any])
      val own = known.get()(wanted)
      key.indices.foreach { i =>
        val place = table.fieldIndex(key(i).name)
        if (parsed.isNullAt(place)) row.update(place, own.get(i, table(place).dataType))
      }
      unsafe.get()(row).copy()
    }
  }

  private def equal(place: UnsafeRow, wanted: InternalRow): Boolean = !place.anyNull && place == same.get()(wanted)

  private def reader(schema: StructType): ThreadLocal[String => InternalRow] = ThreadLocal.withInitial { () =>
    val parsed = JsonToStructs(schema, Map("mode" -> "FAILFAST"), BoundReference(0, StringType, nullable = true), Some(timeZone))
    text => parsed.eval(new GenericInternalRow(Array[Any](UTF8String.fromString(text)))).asInstanceOf[InternalRow]
  }

  private def projected(columns: => Seq[Expression]): ThreadLocal[UnsafeProjection] =
    ThreadLocal.withInitial[UnsafeProjection](() => UnsafeProjection.create(columns))

  private def cast(at: Int, from: DataType, to: DataType): Expression = {
    val column = BoundReference(at, from, nullable = true)
    if (from == to) column else Cast(column, to, Some(timeZone), EvalMode.ANSI)
  }
}

/** An address with placeholders for columns: `https://example.org/customers/{id}`. */
private[http] final case class Address(template: String) {
  import Address._

  /** The address for the values of columns, or the reason why there is none: an empty text, or a step up, would address something else. */
  def of(values: Map[String, String]): Either[String, String] =
    values.collectFirst { case (column, text) if Others(text) => s"the key `$column` is '$text', which would address something else" }
      .toLeft(Place.replaceAllIn(template, placeholder => java.util.regex.Matcher.quoteReplacement(encoded(values(placeholder.group(1))))))
}

private[http] object Address {
  private val Place = "\\{([^{}]*)\\}".r
  private val Others = Set("", ".", "..")

  private def encoded(text: String): String = URLEncoder.encode(text, UTF_8).replace("+", "%20")
}
