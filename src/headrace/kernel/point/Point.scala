package headrace.point

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{FileAlreadyExistsException, Files, Path, Paths, StandardOpenOption}
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.SparkEnv

/** Named points of a run at which a test, or `headrace certify`, kills, stops or fails this process: the JVM's side of `headrace.points`,
  * which documents how to arm one. The environment is read once per process. If nothing is armed, passing a point costs nothing.
  */
object Point {
  private val armed: Option[Armed] = variable("HEADRACE_POINT").map(Armed.parse)
  private val folder: Option[Path] = variable("HEADRACE_POINT_FOLDER").map(Paths.get(_))
  private val passed = new AtomicInteger

  /** Whether nothing is armed or recorded, the usual case. */
  val off: Boolean = armed.isEmpty && folder.isEmpty

  /** Passes a point; `of` is the sink or query. */
  def pass(name: String, of: String = ""): Unit = if (!off) passing(name, of)

  private def passing(name: String, of: String): Unit = {
    folder.foreach { place =>
      val line = s"$name@$of\n".getBytes(UTF_8)
      Files.write(place.resolve("passed"), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND)
    }
    armed.filter(_.fits(name, of)).foreach { one =>
      if (passed.incrementAndGet() == one.passing && first()) act(one, s"$name${if (of.isEmpty) "" else s" of $of"}")
    }
  }

  private def act(armed: Armed, place: String): Unit = armed.action match {
    case "kill" => kill()
    case "hang" => new CountDownLatch(1).await()
    case "pause" => pause()
    case "fail" => throw new Injected(place)
  }

  /** Kills this process like kill -9: no hook runs, nothing is flushed. The driver's Python dies first, so that it cannot report the end of
    * the JVM.
    */
  private def kill(): Unit = {
    if (isDriver) variable("HEADRACE_POINT_OWNER").foreach { owner =>
      ProcessHandle.of(owner.toLong).ifPresent(process => { process.destroyForcibly(); () })
    }
    Runtime.getRuntime.halt(137)
  }

  /** Stops this process until SIGCONT. The driver's Python is stopped too, and last, so an observer that finds it stopped may assume that
    * this process is as well.
    */
  private def pause(): Unit = {
    val all = Seq(ProcessHandle.current.pid.toString) ++ (if (isDriver) variable("HEADRACE_POINT_OWNER") else None)
    new ProcessBuilder("kill" +: "-STOP" +: all: _*).start().waitFor()
    ()
  }

  /** Executors on this machine share the driver's environment, so the variables alone do not identify the driver. */
  private def isDriver: Boolean = SparkEnv.get == null || SparkEnv.get.executorId == "driver"

  private def first(): Boolean = folder.forall { place =>
    try {
      Files.createFile(place.resolve("acted"))
      true
    } catch { case _: FileAlreadyExistsException => false }
  }

  private def variable(name: String): Option[String] = Option(System.getenv(name)).filter(_.nonEmpty)
}

/** The failure at a point armed with `fail`. */
final class Injected(place: String) extends RuntimeException(s"failed on purpose: $place")

/** An armed point and its action. */
private[point] final case class Armed(name: String, of: String, passing: Int, action: String) {
  def fits(name: String, of: String): Boolean = this.name == name && (this.of.isEmpty || this.of == of)
}

private[point] object Armed {
  private val Form = """([^@#:]+)(?:@([^:]+?))?(?:#(\d+))?:(kill|hang|pause|fail)""".r

  def parse(text: String): Armed = text match {
    case Form(name, of, passing, action) => Armed(name, Option(of).getOrElse(""), Option(passing).fold(1)(_.toInt), action)
    case _ => throw new IllegalArgumentException(s"HEADRACE_POINT is NAME[@OF][#N]:kill|hang|pause|fail, not $text")
  }
}
