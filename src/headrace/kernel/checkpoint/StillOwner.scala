package headrace.checkpoint

import java.nio.file.{Path => LocalPath}
import java.util.concurrent.ConcurrentHashMap

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.Path

/** Checks whether a process may still log the input of epochs: while it was suspended, another may have replaced it. */
object StillOwner {
  private val checks = new ConcurrentHashMap[LocalPath, () => String]

  /** Registers a check that runs before an epoch of the query with this checkpoint is logged. `still` returns null, or the reason why it
    * may not be logged.
    */
  def by(checkpoint: String, still: () => String): Unit = checks.put(place(checkpoint), still)
  def drop(checkpoint: String): Unit = checks.remove(place(checkpoint))

  /** Throws if the reason is not null. */
  def require(answer: String): Unit = if (answer != null) throw new HeadraceKernelException("SINK_COMMIT", answer)

  private[checkpoint] def check(file: LocalPath): Unit = {
    val folder = file.getParent
    if (folder.endsWith("offsets")) Option(checks.get(folder.getParent)).foreach(still => require(still()))
  }

  private def place(checkpoint: String): LocalPath = LocalCheckpointFileManager.local(new Path(checkpoint))
}
