package headrace

import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path}

import scala.jdk.CollectionConverters._

/** Files that are never changed in place: a copy of one is a hard link to it. */
object Links {

  /** Links all files of a folder, or copies them where links cannot be made. Others may remove files meanwhile. */
  def tree(from: Path, to: Path): Unit = {
    Files.createDirectories(to)
    val children = Files.list(from)
    try
      children.iterator.asScala.foreach { child =>
        val target = to.resolve(child.getFileName)
        if (Files.isDirectory(child)) tree(child, target)
        else
          try link(child, target)
          catch { case _: NoSuchFileException => () }
      }
    finally children.close()
  }

  private def link(from: Path, to: Path): Unit =
    try Files.createLink(to, from)
    catch {
      case gone: NoSuchFileException => throw gone
      case _: IOException | _: UnsupportedOperationException => Files.copy(from, to)
    }
}
