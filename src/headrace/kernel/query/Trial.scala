package headrace.query

import java.nio.charset.{IllegalCharsetNameException, UnsupportedCharsetException}
import java.time.ZoneId
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.lookup.LookupStage
import headrace.sink.{FileStage, Stage}
import headrace.source.LineSpec
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.catalyst.util.{DateFormatter, TimestampFormatter}
import org.apache.spark.sql.types._

/** Tries out in the driver what an epoch would do first, before a start changes anything. Each function returns the reason for a failure,
  * or null.
  */
object Trial {
  private val mapper = new ObjectMapper

  /** Makes the parser of a source's lines. */
  def lines(kind: String, ddl: String, options: JavaMap[String, String], records: Boolean, timeZone: String): String = why {
    val (schema, settings) = (StructType.fromDDL(ddl), options.asScala.toMap)
    LineSpec(kind, schema, settings, timeZone, caseSensitive = false, records).parser()
    if (kind == "json" || kind == "csv") patterns(schema, settings, timeZone, parsing = true)
  }

  /** Writes a row to a file in `folder`. */
  def file(session: SparkSession, format: String, ddl: String, options: JavaMap[String, String], folder: String, timeZone: String): String = why {
    val (schema, settings) = (StructType(StructType.fromDDL(ddl).map(_.copy(nullable = true))), options.asScala.toMap)
    if (format == "json" || format == "csv") patterns(schema, settings, timeZone, parsing = false)
    val stage = FileStage(session, "trial", schema, Stage.Files(format, settings, Nil, folder), timeZone)
    val (_, file) = stage.writer(extension => new Path(folder, s"trial$extension"))
    // Text formats validate some options only when the first row is written.
    file.write(row(schema))
    file.close()
  }

  /** Opens the client of a lookup: most connect to the server and check the table's columns. */
  def lookup(name: String, className: String, key: String, table: String, options: JavaMap[String, String], timeZone: String): String = why {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    val constructor = Class.forName(className, true, loader)
      .getConstructor(classOf[String], classOf[StructType], classOf[StructType], classOf[Map[_, _]], classOf[String])
    val stage = constructor
      .newInstance(name, StructType.fromDDL(key), StructType.fromDDL(table), options.asScala.toMap, timeZone)
      .asInstanceOf[LookupStage]
    try stage.open()
    finally stage.close()
  }

  /** A row with valid times and dates, and nulls for all other types. */
  private def row(schema: StructType): SpecificInternalRow = {
    val row = new SpecificInternalRow(schema)
    schema.indices.foreach { i =>
      schema(i).dataType match {
        case TimestampType | TimestampNTZType => row.setLong(i, 0L)
        case DateType => row.setInt(i, 0)
        case _ => row.setNullAt(i)
      }
    }
    row
  }

  /** Checks the patterns of times. Spark reads a pattern with the first value, and reports a wrong one as a line that cannot be read. */
  private def patterns(schema: StructType, options: Map[String, String], timeZone: String, parsing: Boolean): Unit = {
    val zone = ZoneId.of(timeZone)
    def pattern(option: String, holds: DataType)(look: String => Unit): Unit =
      if (has(schema, holds)) options.collectFirst { case (name, value) if name.equalsIgnoreCase(option) => value }.foreach { value =>
        try look(value)
        catch { case NonFatal(e) => throw new IllegalArgumentException(s"$option cannot be $value: ${reason(e)}", e) }
      }
    pattern("timestampFormat", TimestampType)(TimestampFormatter(_, zone, parsing))
    pattern("timestampNTZFormat", TimestampNTZType)(TimestampFormatter(_, zone, parsing))
    pattern("dateFormat", DateType)(DateFormatter(_, parsing))
  }

  private def has(dataType: DataType, wanted: DataType): Boolean = dataType match {
    case struct: StructType => struct.exists(field => has(field.dataType, wanted))
    case array: ArrayType => has(array.elementType, wanted)
    case map: MapType => has(map.keyType, wanted) || has(map.valueType, wanted)
    case other => other == wanted
  }

  private def why(work: => Unit): String =
    try {
      work
      null
    } catch { case NonFatal(e) => reason(e) }

  private def reason(e: Throwable): String = e match {
    case _: UnsupportedCharsetException | _: IllegalCharsetNameException =>
      s"unknown encoding ${e.getMessage}; valid ones include UTF-8, UTF-16, ISO-8859-1 and windows-1252"
    case _ => mapper.readTree(Trouble.json(e)).get("message").asText
  }
}
