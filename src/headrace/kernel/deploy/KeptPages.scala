package headrace.deploy

import headrace.bag.Pages

/** The pages of a bag, in memory. */
private[deploy] final class KeptPages extends Pages {
  private val pages = scala.collection.mutable.TreeMap.empty[Long, Array[Byte]]

  override def get(number: Long): Array[Byte] = pages.get(number).map(_.clone()).orNull
  override def put(number: Long, bytes: Array[Byte]): Unit = pages(number) = bytes
  override def remove(number: Long): Unit = pages.remove(number)

  def iterator: Iterator[(Long, Array[Byte])] = pages.iterator
}
