package headrace.bag

import org.apache.spark.unsafe.Platform

/** Trials of the bag without Spark, each named on the command line with its numbers. Fails with the seed. */
object BagTrial {
  def main(args: Array[String]): Unit = args.toList match {
    case List("sequences", first, number, calls, most) => sequences(first.toLong, number.toInt, calls.toInt, most.toInt)
    case List("large", entries) => large(entries.toInt)
    case List("queue", entries) => queue(entries.toInt)
    case List("shrinking", entries) => shrinking(entries.toInt)
    case List("store", folder) => StoreTrial.run(folder)
    case List("misuse") => misuse()
    case other => throw new IllegalArgumentException(other.mkString(" "))
  }

  private def sequences(first: Long, number: Int, calls: Int, most: Int): Unit =
    (first until first + number).foreach { seed =>
      val sequence = new Sequence(seed, calls, most)
      try sequence.run()
      catch { case e: Throwable => throw new AssertionError(s"$sequence: $e", e) }
    }

  private val value = Array.tabulate[Byte](40)(_.toByte)

  private def key(number: Long): Array[Byte] = Array.tabulate(8)(i => (number >>> (56 - 8 * i)).toByte)

  private def put(bag: Bag, number: Long): Unit = bag.put(key(number), 8, value, Platform.BYTE_ARRAY_OFFSET, value.length)

  /** Height, pages read by a call, and bytes written, in a bag of many entries that came in order. */
  private def large(entries: Int): Unit = {
    val store = new Store
    val bag = new Bag
    bag.open(store)
    (0 until entries).foreach(i => put(bag, 2L * i))
    bag.close()
    val audit = Audit(store, Bag.PageSize)
    println(s"appended: $audit, pages ${store.size}, written ${store.bytesWritten}")
    require(audit.entries == entries)
    require(audit.bytes > 0.95 * store.size * Bag.PageSize, "appended pages are not full")
    require(store.bytesWritten < 1.1 * audit.bytes, "pages were written more than once")

    def reads(what: String, most: Int)(work: => Boolean): Unit = {
      bag.open(store)
      store.count()
      require(work, what)
      bag.close()
      require(store.reads <= most, s"$what reads ${store.reads} pages, the tree is ${audit.height} high")
      require(store.writes == 0, s"$what writes")
    }
    val random = new java.util.Random(1)
    (0 until 200).foreach { _ =>
      val i = random.nextInt(entries)
      reads("find", audit.height)(bag.find(key(2L * i), 8))
      reads("find of none", audit.height)(!bag.find(key(2L * i + 1), 8))
      reads("at", audit.height)(bag.at(i) && bag.valueSize == 40)
      reads("rank", audit.height)(bag.rank(key(2L * i), 8) == i)
      reads("size", 1)(bag.size == entries && bag.entries == entries && !bag.isEmpty)
      reads("last", audit.height)(bag.last())
    }

    // An epoch that appends writes the pages it fills, and one page for each step of the way.
    bag.open(store)
    store.count()
    (0 until 1000).foreach(i => put(bag, 2L * (entries + i)))
    bag.close()
    val appended = 1000 * (8 + 8 + 40 + 4)
    println(s"1000 appended: ${store.bytesWritten} bytes written, ${store.reads} pages read")
    require(store.bytesWritten < 1.2 * appended + (audit.height + 1) * Bag.PageSize, s"${store.bytesWritten} bytes for $appended")
    require(store.reads <= audit.height)

    // Random changes all over it, more than pages are held.
    bag.open(store)
    (0 until entries / 2).foreach { _ =>
      val i = random.nextInt(entries)
      if (random.nextBoolean()) put(bag, 2L * i + 1) else bag.remove(key(2L * i), 8)
    }
    val left = bag.entries
    bag.close()
    require(Audit(store, Bag.PageSize).entries == left)
    bag.open(store)
    bag.clear()
    bag.close()
    require(store.size == 0, "pages are left of a cleared bag")
  }

  /** Taken at the front and appended at the end, as held rows are: pages are written as often as they are let go of. */
  private def queue(entries: Int): Unit = {
    val store = new Store
    val bag = new Bag
    bag.open(store)
    (0 until entries).foreach(i => put(bag, i))
    bag.close()
    val written = store.bytesWritten
    var taken = 0L
    store.count()
    bag.open(store)
    (0 until entries / 2).foreach { _ =>
      require(bag.first() && java.util.Arrays.equals(java.util.Arrays.copyOfRange(bag.keyBytes, bag.keyAt, bag.keyAt + 8), key(taken)))
      bag.removeHere()
      taken += 1
    }
    bag.close()
    println(s"$taken taken: ${store.bytesWritten} of $written bytes written, ${store.reads} pages read")
    require(store.bytesWritten <= 0.01 * written + 4 * Bag.PageSize, s"taking $taken wrote ${store.bytesWritten} bytes")
    bag.open(store)
    (0 until entries).foreach { i =>
      bag.first()
      bag.removeHere()
      put(bag, entries + i.toLong)
    }
    bag.close()
    require(Audit(store, Bag.PageSize).entries == entries / 2 + entries % 2)
    bag.open(store)
    while (bag.first()) bag.removeHere()
    bag.close()
    require(store.size == 0)
  }

  /** Removed at random, pages are put together again, down to one page, and then to none. */
  private def shrinking(entries: Int): Unit = {
    val store = new Store
    val bag = new Bag
    val random = new java.util.Random(2)
    bag.open(store)
    (0 until entries).foreach(i => put(bag, i))
    val numbers = (0 until entries).toArray
    (entries - 1 to 1 by -1).foreach { i =>
      val j = random.nextInt(i + 1)
      val number = numbers(i)
      numbers(i) = numbers(j)
      numbers(j) = number
    }
    var left = entries
    def removeTo(most: Int): Audit.Summary = {
      while (left > most) {
        left -= 1
        bag.remove(key(numbers(left)), 8)
      }
      bag.close()
      val audit = Audit(store, Bag.PageSize)
      println(audit)
      bag.open(store)
      audit
    }
    val few = removeTo(entries / 50)
    require(few.leaves < 8 * few.bytes / Bag.PageSize, s"pages are left nearly empty: $few")
    require(removeTo(20).height == 1, "a small bag is more than one page")
    // Up and down around the size of one page, nothing is rebuilt each time.
    val one = (Bag.PageSize - 8) / 60
    (0 until 2 * one).foreach(i => put(bag, entries + i))
    bag.close()
    bag.open(store)
    (0 until one).foreach { i => bag.last(); bag.removeHere() }
    bag.close()
    require(Audit(store, Bag.PageSize).height == 2, "a bag of more than half a page is put into one page at once")
    // What is cleared stays until it can no longer come back, and no longer.
    bag.open(store)
    bag.begin()
    bag.clear()
    require(store.size > 0)
    bag.rollback()
    require(bag.entries == left + one)
    bag.clear()
    bag.begin()
    require(store.size == 1, s"${store.size} pages are left of a cleared bag whose step is over")
    bag.close()
    require(store.size == 0)
  }

  /** What a caller does wrong is told, and changes nothing. */
  private def misuse(): Unit = {
    def refused(what: String)(work: => Any): Unit =
      try { work; throw new AssertionError(s"$what is not refused") }
      catch { case _: IllegalStateException | _: IllegalArgumentException | _: ArithmeticException => }
    val bag = new Bag
    refused("a closed bag")(bag.first())
    bag.open(new Store)
    refused("a second open")(bag.open(new Store))
    refused("rollback without begin")(bag.rollback())
    refused("no present entry")(bag.count)
    put(bag, 1)
    refused("no present entry after a change")(bag.removeHere())
    require(bag.add(key(1), 8, value, Platform.BYTE_ARRAY_OFFSET, 40, -2) == -1 && bag.size == 1, "less than none")
    refused("more than can be counted")(bag.add(key(1), 8, value, Platform.BYTE_ARRAY_OFFSET, 40, Long.MaxValue))
    refused("more than can be counted in all")(bag.add(key(2), 8, value, Platform.BYTE_ARRAY_OFFSET, 40, Long.MaxValue))
    require(bag.size == 1 && bag.entries == 1 && bag.find(key(1), 8) && bag.count == 1, "a refused call changes something")
    val cursor = new Cursor(bag)
    refused("a cursor that has not begun")(cursor.count)
    require(!cursor.next())
    bag.close()
  }
}
