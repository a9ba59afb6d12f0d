package headrace.store

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList, List => JList}

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Inside

/** A folder on any file system that Hadoop supports, for the driver's Python: small texts and the names of files. Names are relative to the
  * folder.
  */
final class Store(session: SparkSession, folder: String) {
  private val root = new Path(folder)
  private val files: FileSystem = root.getFileSystem(Inside.hadoop(session))

  def exists(name: String): Boolean = files.exists(at(name))

  /** Returns the text of a file, or null if there is none. */
  def read(name: String): String =
    try {
      val in = files.open(at(name))
      try new String(in.readAllBytes(), UTF_8)
      finally in.close()
    } catch {
      case _: FileNotFoundException => null
      // HDFS throws this for a path below a file.
      case _: AccessControlException if files.getFileStatus(root).isFile => null
    }

  /** Creates a file, unless it exists: then the file stays unchanged and the result is false. Stores with conditional writes decide that
    * atomically; other stores are looked up first.
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
        // The file may have been written although the store's response was lost.
        case e: IOException =>
          val there = read(name)
          if (there == null) throw e
          there == text
      }

  /** Writes a file, replacing an existing one. */
  def write(name: String, text: String): Unit = {
    val out = files.create(at(name), true)
    try out.write(text.getBytes(UTF_8))
    finally out.close()
  }

  /** Removes a file or a folder with its content. Does nothing if it does not exist. */
  def delete(name: String): Unit = files.delete(at(name), true)

  /** Lists the names in a folder; empty if the folder does not exist. */
  def names(name: String): JList[String] = {
    val names = new ArrayList[String]
    try files.listStatus(at(name)).foreach(status => names.add(status.getPath.getName))
    catch { case _: FileNotFoundException => () }
    names
  }

  /** Lists all files below the folder. */
  def all(): JList[String] = {
    val names = new ArrayList[String]
    val base = files.makeQualified(root).toUri.getPath.stripSuffix("/") + "/"
    try {
      val each = files.listFiles(root, true)
      while (each.hasNext) names.add(each.next().getPath.toUri.getPath.stripPrefix(base))
    } catch { case _: FileNotFoundException => () }
    names
  }

  private def at(name: String): Path = if (name.isEmpty) root else new Path(root, name)
}
