package headrace.checkpoint

import java.io.{FilterOutputStream, OutputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.zip.CRC32

import headrace.HeadraceKernelException

/** Checksums beside files, as Hadoop's own local file systems write and check them: `.7.crc` beside `7` has the CRC32 of each 512 bytes.
  *
  * They are written in one go after the file. A file whose checksums are missing or empty, because its writer died in between, is not
  * checked.
  */
private object Sums {
  private val Chunk = 512
  private val Header = ByteBuffer.allocate(8).put("crc".getBytes(US_ASCII)).put(0.toByte).putInt(Chunk).array

  /** Suffixes of files that contain their own checksums. */
  private val Checked = Set("changelog", "zip", "delta", "snapshot")

  def of(file: Path): Path = file.resolveSibling(s".${file.getFileName}.crc")

  /** Whether the file has checksums beside it. */
  def kept(file: Path): Boolean = {
    val name = file.getFileName.toString
    !Checked(name.substring(name.lastIndexOf('.') + 1))
  }

  def write(file: Path, sums: Array[Byte]): Unit = Files.write(of(file), sums)

  /** Throws if the file's content differs from what was written. */
  def check(file: Path): Unit = if (kept(file)) {
    val sums =
      try Files.readAllBytes(of(file))
      catch { case _: NoSuchFileException => Array.emptyByteArray }
    if (sums.nonEmpty && !sums.sameElements(of(Files.readAllBytes(file))))
      throw new HeadraceKernelException("CHECKPOINT_UNREADABLE", s"$file is damaged: its checksum is not that of what was written")
  }

  private def of(bytes: Array[Byte]): Array[Byte] = {
    val summing = new Summing(OutputStream.nullOutputStream)
    summing.write(bytes, 0, bytes.length)
    summing.sums
  }

  /** Passes bytes on and computes their checksums. */
  final class Summing(out: OutputStream) extends FilterOutputStream(out) {
    private val crc = new CRC32
    private val done = new java.io.ByteArrayOutputStream
    private var filled = 0

    override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

    override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
      out.write(bytes, offset, length)
      var at = offset
      while (at < offset + length) {
        val n = math.min(Chunk - filled, offset + length - at)
        crc.update(bytes, at, n)
        at += n
        filled += n
        if (filled == Chunk) end()
      }
    }

    /** The checksums of all bytes so far. */
    def sums: Array[Byte] = {
      if (filled > 0) end()
      Header ++ done.toByteArray
    }

    private def end(): Unit = {
      done.write(ByteBuffer.allocate(4).putInt(crc.getValue.toInt).array)
      crc.reset()
      filled = 0
    }
  }
}
