package headrace

import java.nio.file.{Files, Path}

/** Reads and checks the classes that a first job needs, on a core that is idle during the start. It initialises no class: threads that do
  * can deadlock.
  */
object Preload {

  /** Starts loading the classes that a file names, one per line. */
  def begin(list: String): Thread = {
    val loader = Thread.currentThread.getContextClassLoader
    val thread = new Thread(() => Files.lines(Path.of(list)).forEach(load(_, loader)), "headrace preload")
    thread.setDaemon(true)
    if (Runtime.getRuntime.availableProcessors > 1) thread.start()
    thread
  }

  private def load(name: String, loader: ClassLoader): Unit =
    // Listing the constructors links a class. This job does not need a class that is missing.
    try Class.forName(name, false, loader).getDeclaredConstructors
    catch { case _: ClassNotFoundException | _: LinkageError => () }
}
