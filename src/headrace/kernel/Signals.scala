package headrace

import sun.misc.{Signal, SignalHandler}

/** Handles the SIGTERM that a supervisor sends to all processes of a job: the JVM ignores it, and Python ends the driver's JVM after the
  * current epoch.
  */
object Signals {

  // A handler, not SIG_IGN: executors that this JVM starts would inherit SIG_IGN.
  private val python: SignalHandler = _ => ()

  def leaveToPython(): Unit =
    try Signal.handle(new Signal("TERM"), python)
    catch { case _: IllegalArgumentException => () } // a JVM started with -Xrs has no handlers
}
