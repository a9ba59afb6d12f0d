package headrace.lookup

import headrace.task.LookupSpec

/** The outside tables of a JVM's queries, one client for each lookup of a query.
  *
  * Clients of ended queries are closed. Executors do not learn that a query ended: they close the least recently used client.
  */
private[headrace] object Clients {
  private val Kept = 24

  private val byQuery = new java.util.LinkedHashMap[(String, Int), Client](16, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[(String, Int), Client]): Boolean = {
      val over = size > Kept
      if (over) eldest.getValue.close()
      over
    }
  }

  private[lookup] def of(query: String, spec: LookupSpec): Client = byQuery.synchronized {
    val place = (query, spec.op)
    val known = byQuery.get(place)
    if (known != null) known
    else {
      val client = new Client(spec)
      byQuery.put(place, client)
      client
    }
  }

  def drop(query: String): Unit = {
    val ended = byQuery.synchronized {
      val clients = new java.util.ArrayList[Client]
      byQuery.entrySet.removeIf { entry =>
        val its = entry.getKey._1 == query
        if (its) clients.add(entry.getValue)
        its
      }
      clients
    }
    ended.forEach(_.close())
  }
}
