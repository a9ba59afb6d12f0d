package headrace.source

import java.io.FileNotFoundException

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileStatus, GlobExpander, GlobFilter, LocalFileSystem, Path, PathFilter}

/** The local file system for files of any name. To find a file's checksums and in patterns, Hadoop's own parses the name as a path, and
  * takes the part before a colon as a scheme.
  */
class AnyNames extends LocalFileSystem {
  override def getChecksumFile(file: Path): Path = AnyNames.below(file.getParent, s".${file.getName}.crc")

  override def globStatus(pattern: Path): Array[FileStatus] = globStatus(pattern, _ => true)

  override def globStatus(pattern: Path, filter: PathFilter): Array[FileStatus] = {
    val root = makeQualified(new Path("/"))
    val paths = GlobExpander.expand(pattern.toUri.getPath).asScala.toSeq.flatMap { one =>
      one.split('/').filter(_.nonEmpty).foldLeft(Seq(root))((places, part) => places.flatMap(inside(_, part)))
    }
    paths.distinct.filter(filter.accept).flatMap(status).sorted.toArray
  }

  /** The entries of a folder with this name, or that match a pattern. */
  private def inside(folder: Path, part: String): Seq[Path] = {
    val names = new GlobFilter(part)
    if (!names.hasPattern) Seq(AnyNames.below(folder, part.replaceAll("\\\\(.)", "$1"))).filter(exists)
    else if (status(folder).exists(_.isDirectory)) listStatus(folder).toSeq.map(_.getPath).filter(names.accept)
    else Nil
  }

  private def status(path: Path): Option[FileStatus] =
    try Some(getFileStatus(path))
    catch { case _: FileNotFoundException => None }
}

object AnyNames {

  /** The settings with which local files are read like that, for Hadoop or as options of a reader of Spark. */
  val settings: Map[String, String] = Map(
    "fs.file.impl" -> classOf[AnyNames].getName,
    // Cached file systems are shared by the whole process.
    "fs.file.impl.disable.cache" -> "true")

  private def below(folder: Path, name: String): Path = new Path(folder, new Path(null, null, name))
}
