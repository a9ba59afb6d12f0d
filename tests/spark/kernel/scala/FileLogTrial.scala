package headrace.source

import java.nio.file.{Files, Paths}

import headrace.checkpoint.LocalCheckpointFileManager
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The log of files over very many epochs. Steps are separated by the word `then`, which is printed between their outputs. */
object FileLogTrial {
  def main(words: Array[String]): Unit = {
    val end = words.indexOf("then")
    step(if (end < 0) words else words.take(end))
    if (end >= 0) {
      println("then")
      main(words.drop(end + 1))
    }
  }

  private def step(words: Array[String]): Unit = words match {
    case Array("grow", folder, epochs) => grow(folder, epochs.toInt)
    case Array("paths", folder) => open(folder).foreach(show)
    case Array("between", folder, from, to) => open(folder).between(from.toLong, to.toLong).foreach(show)
    case Array("add", folder, path, length, was) => open(folder).add(Seq(Logged(path, length.toLong, was.toLong)))
    case Array("amend", folder, from, to, path, length) => open(folder).amend(from.toLong, to.toLong, Map(path -> length.toLong))
    case Array("simulate", epochs) => simulate(epochs.toLong)
  }

  private def show(file: Logged): Unit = println(s"${file.path} ${file.length} ${file.was}")

  private def open(folder: String): FileLog = {
    val settings = new Configuration()
    settings.set(LocalCheckpointFileManager.Key, classOf[LocalCheckpointFileManager].getName)
    new FileLog(new Path(folder), settings)
  }

  /** A file an epoch, with a restart now and then; each epoch's files are found again while a replay may ask for them. */
  private def grow(folder: String, epochs: Int): Unit = {
    var log = open(folder)
    var most = 0
    (log.newest + 1 until epochs).foreach { epoch =>
      val file = Logged(s"file:///in/$epoch.json", 10L * epoch, if (epoch % 3 == 0) epoch.toLong else -1L)
      log.add(Seq(file))
      require(log.newest == epoch)
      require(log.between(epoch - 1L, epoch).contains(file))
      if (epoch % 777 == 0) log = open(folder)
      if (epoch % 50 == 0) most = most.max(Files.list(Paths.get(folder)).filter(!_.getFileName.toString.startsWith(".")).count.toInt)
    }
    println(s"files $most")
  }

  /** The files after a merge, as if each epoch had brought one path of 100 bytes. */
  private def simulate(epochs: Long): Unit = {
    var segments = Vector.empty[Segment]
    var most = 0
    var written = 0L
    (0L until epochs by 100).foreach { first =>
      segments ++= (first until first + 100).map(epoch => Segment(epoch, epoch, 120L))
      most = most.max(segments.size)
      var due = Segments.due(segments)
      while (due.nonEmpty) {
        val parts = due.get
        require(parts.zip(parts.tail).forall { case (one, next) => one.to + 1 == next.from }, s"not neighbours: $parts")
        val whole = Segment(parts.head.from, parts.last.to, (parts.last.to - parts.head.from + 1) * 12)
        segments = segments.patch(segments.indexOf(parts.head), Seq(whole), parts.size)
        written += whole.to - whole.from + 1
        due = Segments.due(segments)
      }
    }
    require(segments.head.from == 0 && segments.last.to == epochs - 1)
    println(s"files $most of ${segments.map(_.name.length).max} characters, written ${written.toDouble / epochs + 1} times")
  }
}
