package headrace.checkpoint

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Files, NoSuchFileException, Path, StandardOpenOption}

import org.apache.hadoop.fs.FSInputStream

/** A local file as Hadoop reads one: a stream with seeks and positioned reads. Buffered, because the formats read single bytes. */
private final class LocalInput(channel: FileChannel) extends FSInputStream {
  private val buffer: ByteBuffer = ByteBuffer.allocate(1 << 14).limit(0)

  /** File position of the byte after the last one in the buffer. */
  private var end = 0L

  override def getPos: Long = end - buffer.remaining

  override def seek(position: Long): Unit = {
    if (position < 0) throw new EOFException(s"Cannot seek to $position")
    if (position > channel.size) throw new EOFException(s"Cannot seek to $position: the file has ${channel.size} bytes")
    val start = end - buffer.limit()
    if (position >= start && position <= end) buffer.position((position - start).toInt)
    else {
      buffer.limit(0)
      end = position
    }
  }

  override def seekToNewSource(position: Long): Boolean = false

  private def fill(): Boolean = {
    buffer.clear()
    val n = channel.read(buffer, end)
    buffer.flip()
    if (n > 0) end += n
    n > 0
  }

  override def read(): Int = if (buffer.hasRemaining || fill()) buffer.get() & 0xff else -1

  override def read(into: Array[Byte], offset: Int, length: Int): Int =
    if (length == 0) 0
    else if (buffer.hasRemaining || (length < buffer.capacity && fill())) {
      val n = math.min(length, buffer.remaining)
      buffer.get(into, offset, n)
      n
    } else {
      buffer.limit(0)
      val n = channel.read(ByteBuffer.wrap(into, offset, length), end)
      if (n > 0) end += n
      n
    }

  override def read(position: Long, into: Array[Byte], offset: Int, length: Int): Int =
    if (length == 0) 0 else channel.read(ByteBuffer.wrap(into, offset, length), position)

  override def available(): Int = math.min(Int.MaxValue.toLong, channel.size - getPos).toInt

  override def close(): Unit = channel.close()
}

private object LocalInput {
  def open(path: Path): LocalInput =
    try {
      if (Files.isDirectory(path)) throw AtomicFile.notFound(s"$path is a folder", null)
      new LocalInput(FileChannel.open(path, StandardOpenOption.READ))
    } catch { case missing: NoSuchFileException => throw AtomicFile.notFound(s"File $path does not exist", missing) }
}
