package headrace

import java.nio.file.{Files, Path}

/** Reads and checks the classes that a first job needs, on a core that a start leaves idle. It initialises none: threads that do so can wait for
  * each other for ever.
  */
object Preload {

  /** Begins with the classes that are named in a file, a line each. */
  def begin(list: String): Thread = {
    val loader = Thread.currentThread.getContextClassLoader
    val thread = new Thread(() => Files.lines(Path.of(list)).forEach(load(_, loader)), "headrace preload")
    thread.setDaemon(true)
    if (Runtime.getRuntime.availableProcessors > 1) thread.start()
    thread
  }

  private def load(name: String, loader: ClassLoader): Unit =
    // To ask for constructors links a class. One that is not there was not needed by this job, either.
    try Class.forName(name, false, loader).getDeclaredConstructors
    catch { case _: ClassNotFoundException | _: LinkageError => () }
}
