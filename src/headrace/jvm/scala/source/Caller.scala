package headrace.source

import py4j.{Py4JPythonClient, PythonClient}

/** The connections by which threads of this JVM call Python.
  *
  * py4j makes one for each thread that calls, with a socket and, in Python, a thread that serves it, and keeps all three when the thread has
  * ended. A query has a thread of its own, so each start of one would leave them behind.
  */
object Caller {
  @volatile private var client: Option[PythonClient] = None

  /** By whom Python is called from now on. Where threads share their connections py4j itself closes those that nobody uses. */
  def through(client: Py4JPythonClient): Unit = this.client = client match {
    case perThread: PythonClient => Some(perThread)
    case _ => None
  }

  /** Closes the connection that this thread has made; a later call makes another. */
  def hangUp(): Unit = client.foreach { client =>
    Option(client.getPerThreadConnection).filter(_.isInitiatedFromClient).foreach { connection =>
      client.connectionStopped(connection)
      connection.shutdown()
    }
  }
}
