package headrace.checkpoint

import java.io.{BufferedOutputStream, FileNotFoundException, OutputStream}
import java.nio.channels.{Channels, FileChannel}
import java.nio.file.{FileAlreadyExistsException => Taken, Files, FileSystemException, NoSuchFileException, Path => LocalPath, Paths}
import java.nio.file.{StandardCopyOption, StandardOpenOption}
import java.util.UUID

import scala.jdk.CollectionConverters._

import headrace.point.Logged
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileStatus, FSDataInputStream, FileSystem, Path, PathFilter}
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/** Manages Spark's checkpoint files on a local file system, by system calls alone.
  *
  * Without its native library, Hadoop starts a `chmod` process for every file and folder that it creates: about a third of the fixed cost
  * of an epoch. This class writes a file beside its final path, then links or renames it: readers see all of it or nothing. A file that
  * must not be overwritten is put in place by a hard link, which the file system refuses if the name is taken, so exactly one of two
  * concurrent writers wins. Like Spark's own managers, it leaves flushing to the operating system: a checkpoint survives the death of the
  * process, not of the machine. `headrace.checkpoint.fsync=true` in the Hadoop configuration flushes each file before it appears.
  *
  * Paths on other file systems are passed to the manager that Spark would have chosen.
  */
class LocalCheckpointFileManager(path: Path, conf: Configuration) extends CheckpointFileManager {
  import LocalCheckpointFileManager._

  private val elsewhere: Option[CheckpointFileManager] =
    if (isLocalPath(path, conf)) None
    else {
      val plain = new Configuration(conf)
      plain.unset(Key)
      Some(CheckpointFileManager.create(path, plain))
    }

  private val sync = conf.getBoolean("headrace.checkpoint.fsync", false)

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = elsewhere match {
    case Some(other) => other.createAtomic(path, overwriteIfPossible)
    case None => AtomicFile.create(local(path), overwriteIfPossible, sync)
  }

  override def open(path: Path): FSDataInputStream = elsewhere match {
    case Some(other) => other.open(path)
    case None =>
      val file = local(path)
      val input = LocalInput.open(file)
      try Sums.check(file)
      catch {
        case e: Throwable =>
          input.close()
          throw e
      }
      new FSDataInputStream(input)
  }

  override def list(path: Path, filter: PathFilter): Array[FileStatus] = elsewhere match {
    case Some(other) => other.list(path, filter)
    case None =>
      val folder = local(path)
      if (!Files.exists(folder)) throw new FileNotFoundException(s"File $path does not exist")
      if (!Files.isDirectory(folder)) Array(status(folder)).filter(s => filter.accept(s.getPath))
      else {
        val entries = Files.newDirectoryStream(folder)
        // A file may vanish between its listing and its status (another thread cleans up): then it is not listed.
        try entries.asScala.filter(e => filter.accept(qualified(e))).flatMap(e => statusIfThere(e)).toArray
        finally entries.close()
      }
  }

  override def mkdirs(path: Path): Unit = elsewhere match {
    case Some(other) => other.mkdirs(path)
    case None => Files.createDirectories(local(path))
  }

  override def exists(path: Path): Boolean = elsewhere match {
    case Some(other) => other.exists(path)
    case None => Files.exists(local(path))
  }

  override def delete(path: Path): Unit = elsewhere match {
    case Some(other) => other.delete(path)
    case None => remove(local(path))
  }

  override def isLocal: Boolean = elsewhere.forall(_.isLocal)

  override def createCheckpointDirectory(): Path = elsewhere match {
    case Some(other) => other.createCheckpointDirectory()
    case None =>
      val folder = local(path)
      Files.createDirectories(folder)
      qualified(folder)
  }

  override def close(): Unit = elsewhere.foreach(_.close())
}

object LocalCheckpointFileManager {

  /** The setting that chooses the manager. */
  val Key = "spark.sql.streaming.checkpointFileManagerClass"

  private[checkpoint] def isLocalPath(path: Path, conf: Configuration): Boolean = {
    val scheme = path.toUri.getScheme
    if (scheme != null) scheme == "file" else FileSystem.getDefaultUri(conf).getScheme == "file"
  }

  private[checkpoint] def local(path: Path): LocalPath = Paths.get(path.toUri.getPath).toAbsolutePath

  /** `file:/a/b`, as Hadoop writes it: Spark compares these texts. */
  private[checkpoint] def qualified(path: LocalPath): Path = new Path("file", null, path.toString)

  private def status(path: LocalPath): FileStatus = {
    val is = Files.readAttributes(path, classOf[java.nio.file.attribute.BasicFileAttributes])
    new FileStatus(if (is.isDirectory) 0L else is.size, is.isDirectory, 1, BlockSize, is.lastModifiedTime.toMillis, qualified(path))
  }

  private def statusIfThere(path: LocalPath): Option[FileStatus] =
    try Some(status(path))
    catch { case _: NoSuchFileException => None }

  private def remove(path: LocalPath): Unit =
    try {
      if (Files.isDirectory(path, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
        val entries = Files.newDirectoryStream(path)
        try entries.asScala.foreach(remove)
        finally entries.close()
      }
      Files.deleteIfExists(path)
      Files.deleteIfExists(Sums.of(path))
    } catch { case _: NoSuchFileException => () }

  private val BlockSize = 32L * 1024 * 1024
}

/** A file that appears under its name when it is closed, complete, or never. */
private final class AtomicFile(
    target: LocalPath,
    temporary: LocalPath,
    overwrite: Boolean,
    sync: Boolean,
    channel: FileChannel,
    summing: Sums.Summing)
    extends CancellableFSDataOutputStream(AtomicFile.buffered(summing)) {
  private var finished = false

  override def close(): Unit = synchronized {
    if (!finished) {
      finished = true
      try {
        underlyingStream.flush()
        if (sync) channel.force(true)
        channel.close()
        StillOwner.check(target)
        Logged.around(target)(AtomicFile.publish(temporary, target, overwrite))
        if (Sums.kept(target)) Sums.write(target, summing.sums)
        if (sync) AtomicFile.syncFolder(target.getParent)
      } finally {
        // After a failure (a full disk, a name that is taken) no file remains; after a rename there is nothing to delete.
        if (channel.isOpen) channel.close()
        Files.deleteIfExists(temporary)
      }
    }
  }

  override def cancel(): Unit = synchronized {
    if (!finished) {
      finished = true
      try channel.close()
      finally Files.deleteIfExists(temporary)
    }
  }
}

private object AtomicFile {

  /** Uses the temporary name of Spark's managers, so that cleanup after a crash recognises it. */
  def create(target: LocalPath, overwrite: Boolean, sync: Boolean): AtomicFile = {
    val task = Option(TaskContext.get()).map(t => s".TID${t.taskAttemptId()}").getOrElse("")
    val temporary = target.resolveSibling(s".${target.getFileName}.${UUID.randomUUID}$task.tmp")
    val channel =
      try FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
      catch { case missing: NoSuchFileException => throw notFound(s"Parent folder of $target does not exist", missing) }
    new AtomicFile(target, temporary, overwrite, sync, channel, new Sums.Summing(Channels.newOutputStream(channel)))
  }

  def buffered(out: OutputStream): OutputStream = new BufferedOutputStream(out, 1 << 16)

  def publish(temporary: LocalPath, target: LocalPath, overwrite: Boolean): Unit = {
    // The checksum of an earlier file of this name would invalidate the new one.
    if (overwrite || !Files.exists(target)) Files.deleteIfExists(Sums.of(target))
    if (overwrite) Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    else
      try Files.createLink(target, temporary)
      catch {
        case taken: Taken => throw refused(target, taken)
        // On a file system without hard links the check and the move are two steps, as in Spark's own manager.
        case _: UnsupportedOperationException | _: FileSystemException if !Files.exists(target) => moveChecked(temporary, target)
        case _: FileSystemException => throw refused(target, null)
      }
  }

  private def moveChecked(temporary: LocalPath, target: LocalPath): Unit =
    try Files.move(temporary, target)
    catch { case taken: Taken => throw refused(target, taken) }

  private def refused(target: LocalPath, cause: Throwable): FileAlreadyExistsException = {
    val error = new FileAlreadyExistsException(s"$target exists already and may not be overwritten")
    if (cause != null) error.initCause(cause)
    error
  }

  def syncFolder(folder: LocalPath): Unit = {
    val channel = FileChannel.open(folder, StandardOpenOption.READ)
    try channel.force(true)
    finally channel.close()
  }

  def notFound(message: String, cause: Throwable): FileNotFoundException = {
    val error = new FileNotFoundException(message)
    error.initCause(cause)
    error
  }
}
