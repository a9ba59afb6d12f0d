package headrace.checkpoint

import java.nio.file.{Path => LocalPath}
import java.util.concurrent.ConcurrentHashMap

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.Path

/** Whether a process may still log what epochs read: one that was asleep may have been replaced meanwhile. */
object Held {
  private val asked = new ConcurrentHashMap[LocalPath, () => String]

  /** Ask `still` before an epoch of the query with this checkpoint is logged: null, or why it may not be. */
  def by(checkpoint: String, still: () => String): Unit = asked.put(place(checkpoint), still)
  def drop(checkpoint: String): Unit = asked.remove(place(checkpoint))

  /** Throws if an answer is not null. */
  def require(answer: String): Unit = if (answer != null) throw new HeadraceKernelException("SINK_COMMIT", answer)

  private[checkpoint] def check(file: LocalPath): Unit = {
    val folder = file.getParent
    if (folder.endsWith("offsets")) Option(asked.get(folder.getParent)).foreach(still => require(still()))
  }

  private def place(checkpoint: String): LocalPath = LocalCheckpointFileManager.local(new Path(checkpoint))
}
