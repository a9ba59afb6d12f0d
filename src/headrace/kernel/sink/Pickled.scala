package headrace.sink

import java.io.OutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.util.{ArrayList, LinkedHashMap}

import net.razorvine.pickle.{IObjectPickler, Pickler}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/** Rows for Python: internal values, pickled. A row or struct is a tuple, an array a list (a tuple inside a map's key, which must be
  * hashable), a binary bytes, a decimal a Decimal, a timestamp its micros, a date its days, a day-time interval its micros, a year-month
  * interval its months, a calendar interval (months, days, micros), a variant (value, metadata).
  */
private[headrace] object Pickled {
  Pickler.registerCustomPickler(classOf[Bytes], BytesPickler)

  def rows(rows: Iterator[InternalRow], schema: StructType): Array[Byte] = {
    val convert = of(schema, inKey = false)
    val list = new ArrayList[Any]
    rows.foreach(row => list.add(convert(row)))
    // No memo: no value refers to itself, and memoizing each would cost more than the values.
    new Pickler(false).dumps(list)
  }

  private def of(dataType: DataType, inKey: Boolean): Any => Any = dataType match {
    case struct: StructType =>
      val fields = struct.fields.map(f => (f.dataType, of(f.dataType, inKey)))
      value => {
        val row = value.asInstanceOf[InternalRow]
        val tuple = new Array[Object](fields.length)
        var i = 0
        while (i < fields.length) {
          if (!row.isNullAt(i)) tuple(i) = fields(i)._2(row.get(i, fields(i)._1)).asInstanceOf[Object]
          i += 1
        }
        tuple
      }
    case ArrayType(element, _) =>
      val convert = of(element, inKey)
      value => {
        val array = value.asInstanceOf[ArrayData]
        val items = Array.tabulate[Object](array.numElements()) { i =>
          if (array.isNullAt(i)) null else convert(array.get(i, element)).asInstanceOf[Object]
        }
        if (inKey) items else new ArrayList[Object](java.util.Arrays.asList(items: _*))
      }
    case MapType(keyType, valueType, _) =>
      val keyOf = of(keyType, inKey = true)
      val valueOf = of(valueType, inKey)
      value => {
        val map = value.asInstanceOf[MapData]
        val entries = new LinkedHashMap[Any, Any]
        map.foreach(keyType, valueType, (k, v) => entries.put(keyOf(k), if (v == null) null else valueOf(v)))
        entries
      }
    case udt: UserDefinedType[_] => of(udt.sqlType, inKey)
    case _: StringType => value => value.asInstanceOf[UTF8String].toString
    case _: DecimalType => value => value.asInstanceOf[Decimal].toJavaBigDecimal
    case BinaryType => value => new Bytes(value.asInstanceOf[Array[Byte]])
    case CalendarIntervalType =>
      value => {
        val interval = value.asInstanceOf[CalendarInterval]
        Array[Object](Int.box(interval.months), Int.box(interval.days), Long.box(interval.microseconds))
      }
    case VariantType =>
      value => {
        val variant = value.asInstanceOf[VariantVal]
        Array[Object](new Bytes(variant.getValue), new Bytes(variant.getMetadata))
      }
    case _ => value => value
  }

  private final class Bytes(val data: Array[Byte])

  /** Writes bytes: the pickler would write a byte array as a bytearray, which is not hashable and not what a Python user expects. */
  private object BytesPickler extends IObjectPickler {
    override def pickle(value: Any, out: OutputStream, pickler: Pickler): Unit = {
      val data = value.asInstanceOf[Bytes].data
      out.write('B')
      out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(data.length).array)
      out.write(data)
    }
  }
}
