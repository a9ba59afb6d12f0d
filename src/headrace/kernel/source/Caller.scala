package headrace.source

import javax.net.SocketFactory

import py4j.{CallbackClient, Gateway, GatewayServer, Py4JPythonClient, PythonClient}

/** The connections through which threads of this JVM call Python.
  *
  * py4j makes one for each calling thread, with a socket and, in Python, a thread that serves it, and keeps all three after the thread has
  * ended. A query has a thread of its own, so each start of a query would leak them.
  */
object Caller {
  @volatile private var client: Option[PythonClient] = None

  /** Makes all later calls to Python use this token, without which Python refuses them. py4j drops the token when it gets Python's port. */
  def through(server: GatewayServer, token: String): Unit = synchronized {
    val gateway = server.getGateway
    gateway.getCallbackClient match {
      case known: Known if known.token == token => ()
      case former =>
        former.shutdown()
        val client = former match {
          case perThread: PythonClient => new PerThread(gateway, perThread, token)
          case shared => new Shared(shared, token)
        }
        // The gateway accepts a client only in its constructor.
        val field = classOf[Gateway].getDeclaredField("cbClient")
        field.setAccessible(true)
        field.set(gateway, client)
    }
    client = Some(gateway.getCallbackClient).collect { case perThread: PythonClient => perThread }
  }

  /** Closes the connection of this thread; a later call opens another. If threads share connections, py4j closes idle ones itself. */
  def hangUp(): Unit = client.foreach { client =>
    Option(client.getPerThreadConnection).filter(_.isInitiatedFromClient).foreach { connection =>
      client.connectionStopped(connection)
      connection.shutdown()
    }
  }
}

private sealed trait Known {
  def token: String
}

private final class PerThread(gateway: Gateway, former: PythonClient, val token: String)
    extends PythonClient(
      gateway,
      null,
      former.getPort,
      former.getAddress,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT,
      SocketFactory.getDefault,
      former.getJavaServer,
      true,
      former.getReadTimeout,
      token)
    with Known

private final class Shared(former: Py4JPythonClient, val token: String)
    extends CallbackClient(former.getPort, former.getAddress, token)
    with Known
