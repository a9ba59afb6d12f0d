package headrace.sink

import java.lang.reflect.InvocationTargetException

import headrace.HeadraceKernelException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** How the tasks of a query write one sink.
  *
  * The driver makes a connector's own stage once for each start of the query, by a constructor that takes `(name: String, schema:
  * StructType, timeZone: String, options: Map[String, String])`; it travels to each executor once. With mode "changes" or "upsert" the last
  * field of the schema is the weight, a bigint.
  */
abstract class WriterStage extends Serializable {

  /** Opens a stager for one attempt of one task of an epoch. The same rows may come again: in another attempt, or in the same epoch after a
    * restart.
    */
  def open(task: TaskPlace): Stager

  /** Cleans up in the driver after an epoch failed before its commit: removes the staged rows of finished tasks of this run. Other tasks of
    * it may still be ending and cleaning up after themselves.
    */
  def sweep(epoch: Long, run: String): Unit = ()
}

/** The origin of a stager's rows: the epoch, the task's partition, the attempt of the task (a number that is unique in a session), the
  * start of the query, and the identity of the epoch, which a replay shares and no other epoch of this number does. `aside` takes the rows
  * that cannot be written.
  */
final case class TaskPlace(epoch: Long, partition: Int, attempt: Long, run: String, identity: String, aside: Aside)

private[sink] object WriterStage {
  def apply(session: SparkSession, sink: SinkSpec, timeZone: String): WriterStage = sink.stage match {
    case Stage.Rows => new RowStage(sink.schema.length)
    case Stage.None => new CountStage
    case stage: Stage.Files => FileStage(session, sink.name, sink.schema, stage, timeZone)
    case Stage.Writer(className, options) => loaded(className, sink, timeZone, options)
  }

  /** Loads a class from the context class loader, which has the connectors' classes. */
  private def loaded(className: String, sink: SinkSpec, timeZone: String, options: Map[String, String]): WriterStage = {
    def broken(why: String, cause: Throwable = null) =
      throw new HeadraceKernelException("INTERNAL", s"sink ${sink.name}: the writer $className $why", sink.name, cause = cause)
    val maker =
      try
        Class
          .forName(className, true, Thread.currentThread.getContextClassLoader)
          .asSubclass(classOf[WriterStage])
          .getConstructor(classOf[String], classOf[StructType], classOf[String], classOf[Map[_, _]])
      catch {
        case e: ClassNotFoundException => broken("is not on the class path", e)
        case e: ClassCastException => broken("does not derive from WriterStage", e)
        case e: NoSuchMethodException => broken("has no constructor (String, StructType, String, Map[String, String])", e)
      }
    try maker.newInstance(sink.name, sink.schema, timeZone, options)
    catch { case e: InvocationTargetException => throw e.getCause }
  }
}

private final class RowStage(fields: Int) extends WriterStage {
  override def open(task: TaskPlace): Stager = new RowStager(fields)
}

private final class CountStage extends WriterStage {
  override def open(task: TaskPlace): Stager = new CountStager
}
