package headrace.jdbc

import java.sql.{Connection, Driver, PreparedStatement, SQLException}
import java.util.Properties
import java.util.concurrent.ConcurrentLinkedDeque

import scala.collection.mutable
import scala.util.Using

import headrace.lookup.{Answer, LookupStage, Unanswerable}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Concat, EvalMode, Expression, JsonToStructs, Literal, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.headrace.jdbc.LookupRows
import org.apache.spark.sql.types._

/** Looks up rows of a database table by some of its columns, many keys in one statement. Connections are pooled. */
final class JdbcLookup(name: String, key: StructType, table: StructType, options: Map[String, String], timeZone: String) extends LookupStage {
  private val quote = options("quote")
  private val from = options("from")
  private val url = options("url")
  private val texts = url.startsWith("jdbc:sqlite:")
  private val free = new ConcurrentLinkedDeque[Connection]

  // The table's columns as the driver reads them; known once a connection was made.
  @volatile private var native: StructType = _
  private val columns = ThreadLocal.withInitial[UnsafeProjection](() =>
    UnsafeProjection.create(table.indices.map(i => Inside.normalized(read(i, table(i).dataType)))))
  private val keyOf = ThreadLocal.withInitial[UnsafeProjection](() =>
    UnsafeProjection.create(key.map(field => Inside.normalized(read(table.fieldIndex(field.name), field.dataType)))))
  private val same = ThreadLocal.withInitial[UnsafeProjection](() => UnsafeProjection.create(key))

  override def open(): Unit = translated(0) {
    val connection = connect()
    native = LookupRows.schema(connection, s"SELECT ${names(table.fieldNames)} FROM $from WHERE 1 = 0", url)
    free.push(connection)
  }

  override def ask(keys: Array[InternalRow]): Array[Answer] =
    try translated(keys.length)(answers(keys))
    catch {
      // One of the keys cannot be compared with the column: separate statements find which one.
      case e: BadKey => if (keys.length == 1) Array(Answer(Nil, e.getMessage)) else keys.flatMap(one => ask(Array(one)))
    }

  private def answers(keys: Array[InternalRow]): Array[Answer] = {
    val places = new java.util.HashMap[Seq[Byte], Int]
    keys.indices.foreach(i => places.put(same.get()(keys(i)).getBytes.toSeq, i))
    val byKey = Array.fill(keys.length)(mutable.ArrayBuffer.empty[InternalRow])
    // Limits the number of different statements, so that the server knows each of them.
    val slots = Integer.highestOneBit(math.max(keys.length * 2 - 1, 1))
    connected { connection =>
      Using.resource(connection.prepareStatement(sql(slots))) { statement =>
        for (i <- 0 until slots; j <- key.indices) bind(statement, i * key.length + j + 1, keys(math.min(i, keys.length - 1)), j)
        Using.resource(statement.executeQuery()) { result =>
          LookupRows(result, url, native).foreach { row =>
            val place = keyOf.get()(row)
            // The database may consider keys equal that differ for Spark: by case, or by blanks at the end.
            if (!place.anyNull) Option(places.get(place.getBytes.toSeq)).foreach(i => byKey(i) += columns.get()(row).copy())
          }
        }
      }
    }
    byKey.map(rows => Answer(rows.toSeq))
  }

  private def sql(keys: Int): String = {
    val where =
      if (key.length == 1) s"${named(key.head.name)} IN (${Seq.fill(keys)("?").mkString(", ")})"
      else Seq.fill(keys)(key.map(field => s"${named(field.name)} = ?").mkString("(", " AND ", ")")).mkString(" OR ")
    s"SELECT ${names(table.fieldNames)} FROM $from WHERE $where"
  }

  private def names(all: Array[String]): String = all.map(named).mkString(", ")
  private def named(column: String): String = quote + column.replace(quote, quote + quote) + quote

  private def bind(to: PreparedStatement, at: Int, row: InternalRow, i: Int): Unit = key(i).dataType match {
    case BooleanType => to.setBoolean(at, row.getBoolean(i))
    case ByteType => to.setInt(at, row.getByte(i).toInt)
    case ShortType => to.setInt(at, row.getShort(i).toInt)
    case IntegerType => to.setInt(at, row.getInt(i))
    case LongType => to.setLong(at, row.getLong(i))
    case FloatType => to.setFloat(at, row.getFloat(i))
    case DoubleType => to.setDouble(at, row.getDouble(i))
    // SQLite has neither type: the sink writes them as texts.
    case d: DecimalType if texts => to.setString(at, row.getDecimal(i, d.precision, d.scale).toString)
    case DateType if texts => to.setString(at, DateTimeUtils.daysToLocalDate(row.getInt(i)).toString)
    case d: DecimalType => to.setBigDecimal(at, row.getDecimal(i, d.precision, d.scale).toJavaBigDecimal)
    case _: StringType => to.setString(at, row.getUTF8String(i).toString)
    case BinaryType => to.setBytes(at, row.getBinary(i))
    case DateType => to.setObject(at, DateTimeUtils.daysToLocalDate(row.getInt(i)))
    case TimestampNTZType => to.setObject(at, DateTimeUtils.microsToLocalDateTime(row.getLong(i)))
    case TimestampType =>
      val moment = DateTimeUtils.microsToInstant(row.getLong(i)).atOffset(java.time.ZoneOffset.UTC)
      if (options("zoned").toBoolean) to.setObject(at, moment) else to.setObject(at, moment.toLocalDateTime)
    case other => throw new Unanswerable(s"a database cannot be searched for a ${other.sql}")
  }

  /** Converts a column from the driver's type to the table's, in the form that the sink writes. */
  private def read(i: Int, to: DataType): Expression = {
    val column = BoundReference(i, native(i).dataType, nullable = true)
    def cast(e: Expression, to: DataType) = Cast(e, to, Some("UTC"), EvalMode.ANSI)
    to match {
      case _: ArrayType | _: MapType | _: StructType if native(i).dataType.isInstanceOf[StringType] => JsonToStructs(to, Map("mode" -> "FAILFAST"), column, Some(timeZone))
      case TimestampType if native(i).dataType == StringType => cast(Concat(Seq(column, Literal("Z"))), to)
      case _ if native(i).dataType == to => column
      case _ => cast(column, to)
    }
  }

  private def connect(): Connection = {
    val properties = new Properties
    options.foreach { case (option, value) => if (option.startsWith("property.")) properties.setProperty(option.drop(9), value) }
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    Class.forName(options("driver"), true, loader).getDeclaredConstructor().newInstance().asInstanceOf[Driver].connect(url, properties)
  }

  /** Runs `work` with a connection, which is not reused after a failure. */
  private def connected[T](work: Connection => T): T = {
    val connection = Option(free.poll()).getOrElse(connect())
    var done = false
    try {
      val result = work(connection)
      done = true
      result
    } finally if (done) free.push(connection) else try connection.close() catch { case _: SQLException => () }
  }

  private def translated[T](keys: Int)(work: => T): T =
    try work
    catch {
      case e: SQLException if Server.transient(e) => throw e
      case e: SQLException if keys > 0 && e.getSQLState != null && e.getSQLState.startsWith("22") => throw new BadKey(Failure.text(e))
      case e: SQLException => throw new Unanswerable(Failure.plain(e), e, JdbcLookup.hint(e))
    }

  override def close(): Unit = {
    var connection = free.poll()
    while (connection != null) {
      try connection.close()
      catch { case _: SQLException => () }
      connection = free.poll()
    }
  }
}

private object JdbcLookup {

  /** The cure for a refused login, or a lacking right; null for other failures. */
  private def hint(e: SQLException): String = (e.getSQLState, e.getErrorCode) match {
    case (_, 1044 | 1045 | 1698) | ("28P01" | "28000", _) => "check user= and password=hr.secret(\"DB_PASSWORD\") of the lookup"
    case (_, 1142 | 1143) => "grant the user SELECT on the table"
    case ("42501", _) => "grant the user SELECT on the table and USAGE on its schema"
    case _ => null
  }
}

private final class BadKey(message: String) extends RuntimeException(message)
