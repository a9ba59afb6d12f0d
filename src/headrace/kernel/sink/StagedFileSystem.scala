package headrace.sink

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** The local file system for files sinks. Without its native library, Hadoop's own starts three `chmod` processes for each staged file. It
  * also writes a checksum file that would remain when the commit renames the staged file.
  */
class StagedFileSystem extends LocalFileSystem(new StagedFileSystem.Raw) {
  setWriteChecksum(false)
}

object StagedFileSystem {

  /** Makes `conf`, which only the staging of a sink uses, choose this file system for local paths. */
  def use(conf: Configuration): Unit = {
    conf.set("fs.file.impl", classOf[StagedFileSystem].getName)
    // Cached file systems are shared by the whole process.
    conf.setBoolean("fs.file.impl.disable.cache", true)
  }

  final class Raw extends RawLocalFileSystem {
    override def setPermission(path: Path, permission: FsPermission): Unit = {
      val text = permission.getUserAction.SYMBOL + permission.getGroupAction.SYMBOL + permission.getOtherAction.SYMBOL
      try Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(text))
      catch { case _: UnsupportedOperationException => super.setPermission(path, permission) }
    }
  }
}
