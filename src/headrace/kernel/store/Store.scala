package headrace.store

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList, List => JList}

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Inside

/** A folder on any file system that Hadoop knows, for the driver's Python: small texts in it, and the names of its files. Names are relative to
  * the folder.
  */
final class Store(session: SparkSession, folder: String) {
  private val root = new Path(folder)
  private val files: FileSystem = root.getFileSystem(Inside.hadoop(session))

  def exists(name: String): Boolean = files.exists(at(name))

  /** The text of a file; null if there is none. */
  def read(name: String): String =
    try {
      val in = files.open(at(name))
      try new String(in.readAllBytes(), UTF_8)
      finally in.close()
    } catch {
      case _: FileNotFoundException => null
      // HDFS says so of what would be below a file.
      case _: AccessControlException if files.getFileStatus(root).isFile => null
    }

  /** Makes a file, unless there is one: then it stays as it is, and the answer is false. Stores that can be asked to decide that by themselves
    * are asked; for others it is looked up.
    */
  def create(name: String, text: String): Boolean =
    if (exists(name)) false
    else
      try {
        val out = files
          .createFile(at(name))
          .overwrite(false)
          .recursive()
          .opt("fs.option.create.conditional.overwrite", true)
          .build()
        try out.write(text.getBytes(UTF_8))
        finally out.close()
        true
      } catch {
        case _: FileAlreadyExistsException => false
        // An answer may be lost behind a file that is there.
        case e: IOException =>
          val there = read(name)
          if (there == null) throw e
          there == text
      }

  /** Makes a file in the place of the one there is. */
  def write(name: String, text: String): Unit = {
    val out = files.create(at(name), true)
    try out.write(text.getBytes(UTF_8))
    finally out.close()
  }

  /** Removes a file or folder with all that is in it; nothing if it is not there. */
  def delete(name: String): Unit = files.delete(at(name), true)

  /** The names of what is in a folder; none if it is not there. */
  def names(name: String): JList[String] = {
    val found = new ArrayList[String]
    try files.listStatus(at(name)).foreach(status => found.add(status.getPath.getName))
    catch { case _: FileNotFoundException => () }
    found
  }

  /** All files below the folder. */
  def all(): JList[String] = {
    val found = new ArrayList[String]
    val base = files.makeQualified(root).toUri.getPath.stripSuffix("/") + "/"
    try {
      val each = files.listFiles(root, true)
      while (each.hasNext) found.add(each.next().getPath.toUri.getPath.stripPrefix(base))
    } catch { case _: FileNotFoundException => () }
    found
  }

  private def at(name: String): Path = if (name.isEmpty) root else new Path(root, name)
}
