package headrace.trial

import java.net.URI
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** A store as `bucket://`: files of a local folder that cannot be renamed, and that are there only once they are closed, whole.
  *
  * `Bucket.breaks` lets the next write of a name break off, with a part of the text there or nothing.
  */
class Bucket extends RawLocalFileSystem {
  override def getScheme: String = "bucket"
  override def getUri: URI = URI.create("bucket://here")
  override def getDefaultPort: Int = -1

  override def pathToFile(path: Path): java.io.File = new java.io.File(path.toUri.getPath)
  override def rename(from: Path, to: Path): Boolean = throw new UnsupportedOperationException("a bucket renames nothing")
  override def getFileStatus(path: Path): FileStatus = ours(super.getFileStatus(path))
  override def listStatus(path: Path): Array[FileStatus] = super.listStatus(path).map(ours)
  override def setPermission(path: Path, permission: FsPermission): Unit = ()

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    if (!overwrite && exists(path)) throw new FileAlreadyExistsException(path.toString)
    val broken = Option(Bucket.breaks.remove(path.getName))
    new FSDataOutputStream(new java.io.ByteArrayOutputStream {
      private var closed = false
      override def close(): Unit = if (!closed) {
        closed = true
        val file = pathToFile(path)
        file.getParentFile.mkdirs()
        val bytes = toByteArray
        val kept = broken.fold(bytes)(part => bytes.take(part))
        if (broken.forall(_ > 0)) java.nio.file.Files.write(file.toPath, kept)
        if (broken.nonEmpty) throw new java.io.IOException("the connection broke")
      }
    }, null)
  }

  private def ours(status: FileStatus): FileStatus =
    new FileStatus(
      status.getLen,
      status.isDirectory,
      1,
      status.getBlockSize,
      status.getModificationTime,
      new Path("bucket", "here", status.getPath.toUri.getPath))
}

object Bucket {
  val breaks = new ConcurrentHashMap[String, Int]
}
