package headrace.deploy

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

/** The size of an operator's state, in one task or in all. For display only: a repeated task counts twice. */
private[deploy] final class Counted(val op: Int) extends Serializable {
  var keys = 0L
  var entries = 0L
  var held = 0L
  var bytes = 0L
}

private[deploy] object Counted {
  def json(all: java.util.List[Counted]): String = {
    val mapper = new ObjectMapper
    val out = mapper.createArrayNode()
    all.asScala.groupBy(_.op).toSeq.sortBy(_._1).foreach { case (op, counts) =>
      val one = out.addObject()
      one.put("op", op)
      one.put("keys", counts.map(_.keys).sum)
      one.put("entries", counts.map(_.entries).sum)
      one.put("held", counts.map(_.held).sum)
      one.put("bytes", counts.map(_.bytes).sum)
    }
    mapper.writeValueAsString(out)
  }
}
