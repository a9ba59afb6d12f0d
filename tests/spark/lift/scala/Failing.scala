package failing

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

import scala.util.{Failure => No, Success, Try}

import headrace.bind.Bind
import headrace.letter.Failure
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, InterpretedUnsafeProjection, UnsafeProjection, UnsafeRow}

/** Expressions over rows of which some fail, by code that has seen failures and by code that has not. */
object Failing {

  /** How many rows of a frame an expression fails for, or `refused`; and where code that goes on after a failure gives something else. */
  final case class Outcome(failures: String, difference: String)

  def outcomes(session: SparkSession, frame: DataFrame, texts: Array[String]): Array[Outcome] = {
    val rows = frame.asInstanceOf[classic.DataFrame].queryExecution.executedPlan.executeCollect().map(_.asInstanceOf[UnsafeRow].copy())
    texts.map(text =>
      Try(Bind.expressions(session, frame.schema, Seq(text)).head) match {
        case Success(bound) => outcome(rows, bound)
        case No(e) => Outcome("refused", String.valueOf(e.getMessage).takeWhile(_ != '\n'))
      })
  }

  private def outcome(rows: Array[UnsafeRow], bound: Expression): Outcome = {
    val bytes = written(bound)
    def interpreted() = InterpretedUnsafeProjection.createProjection(Seq(read(bytes)))
    def generated() = UnsafeProjection.create(Seq(read(bytes)))
    var unused = interpreted()
    val answers = rows.map { row =>
      val result = answer(unused, row)
      if (fails(result)) unused = interpreted()
      result
    }
    val (failing, good) = rows.indices.partition(i => fails(answers(i)))
    val some = good.take(2) ++ good.takeRight(1)
    // Each failing row twice, as it would be retracted, and good ones behind it.
    val order = failing.distinctBy(answers(_)).take(5).flatMap(i => Seq(i, i) ++ some)
    val difference =
      if (order.isEmpty || !bound.deterministic) None
      else {
        val wanted = order.distinct.map(i => i -> answer(generated(), rows(i))).toMap
        after("generated", generated(), rows, order, wanted).orElse(after("interpreted", interpreted(), rows, order, answers))
      }
    Outcome(failing.size.toString, difference.orNull)
  }

  private def after(how: String, code: UnsafeProjection, rows: Array[UnsafeRow], order: Seq[Int], wanted: Int => String): Option[String] =
    order.map(i => i -> answer(code, rows(i))).collectFirst { case (i, got) if got != wanted(i) => s"$how, row $i: $got instead of ${wanted(i)}" }

  private def fails(answer: String): Boolean = answer.startsWith("fails")

  private def answer(projection: UnsafeProjection, row: InternalRow): String = {
    projection.initialize(0)
    Try(projection(row)).fold(e => s"fails: ${Failure.reason(e)}", projected => projected.getBytes.map("%02x".format(_)).mkString)
  }

  private def written(e: Expression): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(e)
    out.close()
    bytes.toByteArray
  }

  private def read(bytes: Array[Byte]): Expression = {
    val in = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      override def resolveClass(c: ObjectStreamClass): Class[_] =
        Try[Class[_]](Class.forName(c.getName, false, Thread.currentThread.getContextClassLoader)).getOrElse(super.resolveClass(c))
    }
    in.readObject().asInstanceOf[Expression]
  }
}
