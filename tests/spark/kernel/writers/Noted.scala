package writers

import java.nio.file.{Files, Path}
import java.nio.file.StandardOpenOption.{APPEND, CREATE}

import scala.jdk.CollectionConverters._

import headrace.sink.{StagedPart, Stager, TaskPlace, WriterStage}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** Writes a file for each try of a task, with a line for each row (`k int, v string`), and a log of what befell it. A row whose k is
  * `fail_at` fails, for the tries that come before the file `mended` is there.
  */
class Noted(name: String, schema: StructType, timeZone: String, options: Map[String, String]) extends WriterStage {
  private val folder = options("folder")

  private def log(what: String): Unit = Files.writeString(Path.of(folder, "log"), what + "\n", CREATE, APPEND)

  private def isOf(epoch: Long)(file: Path): Boolean = {
    val called = file.getFileName.toString
    called.startsWith(s"$epoch-") && called.endsWith(s"-$name")
  }

  override def sweep(epoch: Long, run: String): Unit = {
    val left = Files.list(Path.of(folder)).iterator.asScala.filter(isOf(epoch)).toSeq
    left.foreach(Files.deleteIfExists)
    if (options.contains("sweep_fails")) throw new IllegalStateException("the folder is out of reach")
    log(s"swept $epoch")
  }

  override def open(task: TaskPlace): Stager = new Stager {
    private val file = Path.of(folder, s"${task.epoch}-${task.partition}-${task.attempt}-${task.run}-$name")
    private var rows = 0L
    Files.createFile(file)

    override def write(row: UnsafeRow): Unit = {
      if (options.get("fail_at").contains(row.getInt(0).toString) && !Files.exists(Path.of(folder, "mended")))
        throw new IllegalStateException(s"no room for ${row.getInt(0)}")
      val weight = if (schema.last.name == "_weight") f" ${row.getLong(schema.length - 1)}%+d" else ""
      Files.writeString(file, s"${row.getInt(0)} ${row.getUTF8String(1)} $name $timeZone ${schema.length}$weight\n", APPEND)
      rows += 1
    }

    override def finish(): StagedPart =
      StagedPart(rows, note = if (rows == 0) Map.empty else Map("file" -> file.getFileName.toString, "of" -> task.partition.toString))

    override def abort(): Unit = {
      Files.deleteIfExists(file)
      log(s"aborted ${task.epoch}")
    }
  }
}

/** Cannot be opened. */
class Shut(name: String, schema: StructType, timeZone: String, options: Map[String, String]) extends WriterStage {
  override def open(task: TaskPlace): Stager = throw new IllegalStateException(s"$name is shut")
}

/** Is no writer. */
class Other
