package headrace.deploy

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.util.CollectionAccumulator

/** The size of an operator's state, in one task or in all. A repeated task counts twice, so only whether a number is 0 is certain. */
private[deploy] final class Counted(val op: Int) extends Serializable {
  var keys = 0L
  var entries = 0L
  var held = 0L
  var pages = 0L
  var bytes = 0L
}

private[deploy] object Counted {

  /** No rows; adds the counts of a task when they are asked for. */
  def atTheEnd(counts: => Iterable[Counted], into: CollectionAccumulator[Counted]): Iterator[Nothing] = new Iterator[Nothing] {
    private var isDone = false
    override def hasNext: Boolean = {
      if (!isDone) counts.foreach(into.add)
      isDone = true
      false
    }
    override def next(): Nothing = Iterator.empty.next()
  }

  def json(all: java.util.List[Counted]): String = {
    val mapper = new ObjectMapper
    val out = mapper.createArrayNode()
    all.asScala.groupBy(_.op).toSeq.sortBy(_._1).foreach { case (op, counts) =>
      val one = out.addObject()
      one.put("op", op)
      one.put("keys", counts.map(_.keys).sum)
      one.put("entries", counts.map(_.entries).sum)
      one.put("held", counts.map(_.held).sum)
      one.put("pages", counts.map(_.pages).sum)
      one.put("bytes", counts.map(_.bytes).sum)
    }
    mapper.writeValueAsString(out)
  }
}
