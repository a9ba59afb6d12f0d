package headrace.task

import java.util.concurrent.ConcurrentLinkedDeque

import scala.jdk.CollectionConverters._

/** Compiled instances of a query's sources and operators, one pool per JVM.
  *
  * Tasks borrow and return them, so the code compiled for the first epoch serves all later ones: Spark's own cache of generated classes has
  * 100 entries, which a job of many programs overflows in each epoch. One task at a time uses an instance; instances of a failed task are
  * not returned. Pools of ended queries are dropped. Executors do not learn that a query ended: they evict the least recently used pool.
  */
object Pool {
  private val Kept = 24

  private final class Instances {
    val parts = new java.util.concurrent.ConcurrentHashMap[String, ConcurrentLinkedDeque[AnyRef]]
  }

  private val byQuery = new java.util.LinkedHashMap[String, Instances](16, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, Instances]): Boolean = size > Kept
  }

  def borrow[T <: AnyRef](query: String, part: String)(make: => T): T = {
    val of = byQuery.synchronized(byQuery.computeIfAbsent(query, _ => new Instances))
    val free = of.parts.computeIfAbsent(part, _ => new ConcurrentLinkedDeque[AnyRef]).pollFirst()
    if (free != null) free.asInstanceOf[T] else make
  }

  def giveBack(query: String, part: String, instance: AnyRef): Unit = {
    val of = byQuery.synchronized(byQuery.get(query))
    if (of != null) of.parts.computeIfAbsent(part, _ => new ConcurrentLinkedDeque[AnyRef]).addFirst(instance)
  }

  def drop(query: String): Unit = byQuery.synchronized(byQuery.remove(query))

  /** The queries with a pool in this JVM. */
  def queries: Set[String] = byQuery.synchronized(byQuery.keySet.asScala.toSet)

  /** Counts the idle instances, by part. */
  def waiting(query: String): Map[String, Int] = {
    val of = byQuery.synchronized(byQuery.get(query))
    if (of == null) Map.empty else of.parts.asScala.map { case (k, v) => k -> v.size }.toMap
  }
}
