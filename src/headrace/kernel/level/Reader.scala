package headrace.level

import java.nio.charset.StandardCharsets.UTF_8

import headrace.letter.RowJson
import headrace.route.Origin
import headrace.source.{LineParser, LineSpec, Texts}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.types.{DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Converts rows of a source's scan to rows of its schema. */
trait Reader {

  /** Returns the row, or null if there is none. Then `reason` is the cause and `raw` the text; `reason` is null as well if nothing is
    * wrong.
    */
  def read(scan: InternalRow, origin: Origin): InternalRow
  def reason: String
  def raw: UTF8String

  /** Whether there is no row, without a flaw, and it is counted: a blank line. */
  def skipped: Boolean = false
}

private object Reader {

  /** Reads a column of text or bytes as a text; bytes that are not UTF-8 become U+FFFD. */
  def text(row: InternalRow, at: Int, of: DataType): UTF8String =
    if (row.isNullAt(at)) null
    else if (of.isInstanceOf[StringType]) row.getUTF8String(at).copy()
    else UTF8String.fromString(new String(row.getBinary(at), UTF_8))
}

/** Reads a scan that has the source's columns. If the columns come first and in order, its row is passed on unchanged; otherwise they are
  * reordered.
  */
final class ColumnReader(schema: StructType, scan: StructType) extends Reader {
  import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}

  private val texts = new Texts(schema)
  private lazy val json = new RowJson(schema)
  private var why: String = _
  private var shown: UTF8String = _
  private val places = schema.fieldNames.map(scan.fieldIndex)
  private val reorder: UnsafeProjection =
    if (places.toSeq == places.indices) null
    else UnsafeProjection.create(schema.fields.zip(places).map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)

  override def read(scanned: InternalRow, origin: Origin): InternalRow = {
    val row = if (reorder == null) scanned else reorder(scanned)
    val flaw = texts.flaw(row)
    why = if (flaw == null) null else Texts.reason(flaw)
    if (flaw == null) row
    else {
      shown = show(scanned)
      null
    }
  }
  override def reason: String = why
  override def raw: UTF8String = shown

  // A record that is a single text is shown as that text.
  private val alone = if (scan.fieldNames.contains("_problem") && scan.fieldNames.contains("_file")) scan.fieldNames.indexOf("value") else -1

  /** The text of a row for dead letters. */
  def show(scanned: InternalRow): UTF8String = if (alone < 0) json(ordered(scanned)) else Reader.text(scanned, alone, scan(alone).dataType)

  // `json` writes all fields of a row, and a scan's row may be wider than the schema.
  private lazy val ordered =
    UnsafeProjection.create(schema.fields.zip(places).map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)
}

/** Reads a scan of lines: `value` is parsed. Columns of the source that are not part of a line are last in its schema, and come from the
  * scan.
  */
final class LineReader(spec: LineSpec, schema: StructType, scan: StructType) extends Reader {
  private val parser = spec.parser()
  private val beside = if (schema.length > spec.schema.length) new ColumnReader(StructType(schema.drop(spec.schema.length)), scan) else null
  private val joined = new JoinedRow
  private val value = scan.fieldIndex("value")
  private val isText = scan(value).dataType.isInstanceOf[StringType]
  private var outcome = LineParser.Row

  override def read(row: InternalRow, origin: Origin): InternalRow = {
    val line = if (row.isNullAt(value)) null else if (isText) row.getUTF8String(value).getBytes else row.getBinary(value)
    outcome = if (origin == null) parser.read(line, null, -1L) else parser.read(line, origin.file, origin.position)
    if (outcome != LineParser.Row) null else if (beside == null) parser.row else joined(parser.row, beside.read(row, origin))
  }
  override def reason: String = if (outcome == LineParser.Malformed) parser.reason else null
  override def raw: UTF8String = parser.raw
  override def skipped: Boolean = outcome == LineParser.Nothing

  /** The text of a line for dead letters. */
  def show(row: InternalRow): UTF8String = Reader.text(row, value, scan(value).dataType)
}

/** Reads a scan whose column `_problem` gives, for some records, the reason why they cannot be read. `show` makes their text for dead
  * letters.
  */
final class ProblemReader(reader: Reader, scan: StructType, show: InternalRow => UTF8String) extends Reader {
  private val problem = scan.fieldIndex("_problem")
  private var why: String = _
  private var shown: UTF8String = _

  override def read(row: InternalRow, origin: Origin): InternalRow =
    if (row.isNullAt(problem)) {
      why = null
      reader.read(row, origin)
    } else {
      why = row.getUTF8String(problem).toString
      shown = show(row)
      null
    }
  override def reason: String = if (why == null) reader.reason else why
  override def raw: UTF8String = if (why == null) reader.raw else shown
  override def skipped: Boolean = why == null && reader.skipped
}

/** Finds the origin of a scan's row, if the scan has a column `_position`. The file is that of the column `_file`, or the one that the task
  * reads.
  */
final class OriginReader(scan: StructType) {
  private val file = scan.fieldNames.indexOf("_file")
  private val position = scan.fieldNames.indexOf("_position")
  private val origin = new Origin

  def of(row: InternalRow): Origin =
    if (position < 0) null
    else {
      // Rows are read one by one, so the task's current file is this row's.
      origin.file = if (file < 0 || row.isNullAt(file)) Inside.fileBeingRead else row.getUTF8String(file)
      origin.position = if (row.isNullAt(position)) -1L else row.getLong(position)
      origin
    }
}
