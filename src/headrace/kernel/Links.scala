package headrace

import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path}

import scala.jdk.CollectionConverters._

/** Files that are never changed in place: a copy of one is a hard link to it. */
object Links {

  /** Links all files of a folder, or copies them where links cannot be made. Others may remove files meanwhile. */
  def tree(from: Path, to: Path): Unit = {
    Files.createDirectories(to)
    val listed = Files.list(from)
    // a snapshot that is listed has its tables in a folder already, so all that it names is linked after it
    val (folders, files) =
      try listed.iterator.asScala.toVector.partition(Files.isDirectory(_))
      finally listed.close()
    files.foreach { file =>
      try link(file, to.resolve(file.getFileName))
      catch { case _: NoSuchFileException => () }
    }
    folders.foreach(folder => tree(folder, to.resolve(folder.getFileName)))
  }

  private def link(from: Path, to: Path): Unit =
    try Files.createLink(to, from)
    catch {
      case gone: NoSuchFileException => throw gone
      case _: IOException | _: UnsupportedOperationException => Files.copy(from, to)
    }
}
