package headrace

import sun.misc.{Signal, SignalHandler}

/** A supervisor sends SIGTERM to all processes of a job. Python ends the driver's JVM, after the epoch that runs; the JVM itself does nothing. */
object Signals {

  // A handler, and not SIG_IGN: executors that this JVM starts would inherit that.
  private val python: SignalHandler = _ => ()

  def leaveToPython(): Unit =
    try Signal.handle(new Signal("TERM"), python)
    catch { case _: IllegalArgumentException => () } // a JVM started with -Xrs has no handlers
}
