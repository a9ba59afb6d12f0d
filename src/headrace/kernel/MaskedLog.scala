package headrace

import java.io.{PrintWriter, StringWriter}

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.{LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.rewrite.{RewriteAppender, RewritePolicy}
import org.apache.logging.log4j.core.config.{AppenderRef, LoggerConfig}
import org.apache.logging.log4j.core.impl.Log4jLogEvent
import org.apache.logging.log4j.message.SimpleMessage
import org.apache.spark.SparkContext

/** Masks secrets in the log of a JVM that headrace started, and of that session's executors. In a session of the user's own, the log is the
  * user's and is not changed.
  */
private[headrace] object MaskedLog {

  /** Whether headrace owns this process's log. Executors get the value with their tasks. */
  @volatile var own: Boolean = System.getProperty("headrace.log") != null

  /** Puts a mask in front of each appender that has none. */
  def install(): Unit = if (own)
    LogManager.getContext(classOf[SparkContext].getClassLoader, false) match {
      case context: LoggerContext =>
        val config = context.getConfiguration
        (config.getLoggers.values.asScala.toSet + config.getRootLogger).foreach { logger: LoggerConfig =>
          for ((name, appender) <- logger.getAppenders.asScala.toSeq if !appender.isInstanceOf[RewriteAppender]) {
            val masked = RewriteAppender.createAppender(s"masked $name", "false", Array(AppenderRef.createAppenderRef(name, null, null)), config, Mask, null)
            masked.start()
            config.addAppender(masked)
            logger.removeAppender(name)
            logger.addAppender(masked, null, null)
          }
        }
        context.updateLoggers()
      case _ => ()
    }

  private object Mask extends RewritePolicy {
    override def rewrite(event: LogEvent): LogEvent = {
      val text = event.getMessage.getFormattedMessage + Option(event.getThrown).fold("")(trace)
      val masked = Masking.masked(text)
      if (masked == text) event else new Log4jLogEvent.Builder(event).setMessage(new SimpleMessage(masked)).setThrown(null).build()
    }

    private def trace(thrown: Throwable): String = {
      val text = new StringWriter
      thrown.printStackTrace(new PrintWriter(text))
      s"\n$text"
    }
  }
}
