package headrace.task

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

import headrace.Secrets
import org.apache.spark.broadcast.Broadcast

/** All bound specs of a query, broadcast once. Each is kept as bytes and every instance deserialises a copy, so no two tasks share an
  * expression.
  */
final class Specs(
    sources: Map[String, Array[Byte]],
    operators: Map[Int, Array[Byte]],
    lookups: Map[Int, Array[Byte]],
    bagged: Set[Int],
    val shared: Set[Int])
    extends Serializable {

  /** Whether any of these operators keeps bags. */
  def haveBags(ops: Set[Int]): Boolean = ops.exists(bagged)

  def source(key: String): SourceSpec = Specs.read(sources(key))
  def operator(op: Int): HostedSpec = Specs.read(operators(op))
  def lookup(op: Int): LookupSpec = Specs.read(lookups(op))
}

object Specs {
  def apply(sources: Seq[SourceSpec], operators: Seq[HostedSpec], lookups: Seq[LookupSpec]): Specs =
    new Specs(
      sources.map(s => s.key -> write(s)).toMap,
      operators.map(o => o.op -> write(o)).toMap,
      lookups.map(l => l.op -> write(l)).toMap,
      operators.filter(_.operator.bags).map(_.op).toSet,
      operators.filter(_.operator.shared).map(_.op).toSet)

  private def write(spec: AnyRef): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val objects = new ObjectOutputStream(out)
    objects.writeObject(spec)
    objects.close()
    out.toByteArray
  }

  private def read[T](bytes: Array[Byte]): T = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    val objects = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      override def resolveClass(c: ObjectStreamClass): Class[_] =
        try Class.forName(c.getName, false, loader)
        catch { case _: ClassNotFoundException => super.resolveClass(c) }
    }
    objects.readObject().asInstanceOf[T]
  }
}

/** The content of a task's closure: the query, and the broadcast of its specs. */
final case class Carried(query: String, specs: Broadcast[Specs]) extends Serializable {
  val secrets = new Secrets
}
