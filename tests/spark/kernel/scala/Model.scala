package headrace.bag

import java.util.{Arrays, TreeMap}

import org.apache.spark.unsafe.Platform

/** A bag as a plain sorted map. */
final class Model {
  type Entries = TreeMap[Array[Byte], (Long, Array[Byte])]
  var entries: Entries = new Entries((a: Array[Byte], b: Array[Byte]) => Arrays.compareUnsigned(a, b))
  def rows: Long = { var sum = 0L; entries.values.forEach(e => sum += e._1); sum }
  def copy: Entries = new Entries(entries)
}

/** One sequence of random calls on a bag and on the model, compared call by call. */
final class Sequence(seed: Long, calls: Int, most: Int) {
  private val random = new java.util.Random(seed)
  private val pageSize = Array(128, 256, 512, 1024, 4096)(random.nextInt(5))
  private val limit = Array(1, 2, 4, 16, 64)(random.nextInt(5))
  private val keyKind = random.nextInt(4)
  private val valueKind = random.nextInt(4)
  private val appending = random.nextInt(3) == 0
  private val counts = random.nextBoolean()
  private val target = 1 + random.nextInt(most)
  private val store = new Store
  private val bag = new Bag(limit, pageSize)
  private val cursor = new Cursor(bag)
  private val model = new Model
  private var saved: Model#Entries = _
  private var lastNumber = 0L
  private var growing = true

  override def toString: String =
    s"seed $seed: pages of $pageSize, $limit held, keys $keyKind, values $valueKind, appending $appending, counts $counts, up to $target entries"

  def run(): Unit = {
    bag.open(store)
    (0 until calls).foreach { i =>
      if (model.entries.size >= target) growing = false
      if (model.entries.isEmpty) growing = true
      step()
      require(bag.entries == model.entries.size, s"call $i: ${bag.entries} entries, not ${model.entries.size}")
      if (i % 64 == 0) require(bag.size == model.rows && bag.isEmpty == model.entries.isEmpty, s"call $i: ${bag.size} rows, not ${model.rows}")
      if (random.nextInt(calls) < 4) compareAll()
    }
    reopen()
    compareAll()
    // Emptied from either end, nothing is left.
    while (if (random.nextBoolean()) bag.first() else bag.last()) bag.removeHere()
    bag.close()
    require(store.size == 0, s"${store.size} pages are left of an empty bag")
  }

  private def step(): Unit = random.nextInt(100) match {
    case n if n < 40 => if (growing == random.nextInt(8) > 0) put() else remove()
    case n if n < 50 => add()
    case n if n < 62 => find()
    case n if n < 70 => seek()
    case n if n < 78 => offsets()
    case n if n < 80 => ends()
    case n if n < 88 => walk(change = random.nextBoolean())
    case n if n < 89 => if (random.nextInt(40) == 0) clear()
    case n if n < 94 => begin()
    case n if n < 98 => rollback()
    case _ => reopen()
  }

  // ---- calls

  private def put(): Unit = {
    val (key, value) = (if (random.nextInt(3) == 0) oldKey() else newKey(), newValue())
    bag.put(key, key.length, value, Platform.BYTE_ARRAY_OFFSET, value.length)
    val had = model.entries.get(key)
    model.entries.put(key, (if (had == null) 1L else had._1, value))
  }

  private def add(): Unit = {
    val key = if (growing) newKey() else oldKey()
    val n = if (counts) random.nextInt(9) - 4L else if (random.nextBoolean()) 1L else -1L
    val value = newValue()
    val had = model.entries.get(key)
    val after = (if (had == null) 0L else had._1) + n
    val answer = bag.add(key, key.length, value, Platform.BYTE_ARRAY_OFFSET, value.length, n)
    require(answer == after, s"add answers $answer, not $after")
    if (after > 0) model.entries.put(key, (after, if (had == null) value else had._2))
    else if (after == 0) model.entries.remove(key)
  }

  private def remove(): Unit = {
    val key = if (appending && random.nextInt(4) > 0 && !model.entries.isEmpty) model.entries.firstKey else oldKey()
    val had = model.entries.remove(key) != null
    require(bag.remove(key, key.length) == had, s"remove does not answer $had")
  }

  private def find(): Unit = {
    val key = oldKey()
    same(bag.find(key, key.length), model.entries.get(key), key)
  }

  private def seek(): Unit = {
    val key = oldKey()
    val expected = model.entries.ceilingEntry(key)
    val there = bag.seek(key, key.length)
    if (expected == null) require(!there, "seek finds what is not there") else same(there, expected.getValue, expected.getKey)
  }

  private def ends(): Unit = {
    val (first, last) = (model.entries.firstEntry, model.entries.lastEntry)
    if (first == null) require(!bag.first() && !bag.last(), "an empty bag has ends")
    else {
      same(bag.first(), first.getValue, first.getKey)
      same(bag.last(), last.getValue, last.getKey)
      if (random.nextBoolean()) {
        bag.removeHere()
        model.entries.remove(last.getKey)
      }
    }
  }

  private def offsets(): Unit = if (model.entries.size < 2000 || random.nextInt(50) == 0) {
    val key = oldKey()
    var before = 0L
    model.entries.headMap(key).values.forEach(e => before += e._1)
    val rank = bag.rank(key, key.length)
    require(rank == before, s"rank is $rank, not $before")
    val next = model.entries.ceilingEntry(key)
    if (next == null) require(!bag.at(before), "there are more rows than there are")
    else {
      same(bag.at(before), next.getValue, next.getKey)
      same(bag.at(before + next.getValue._1 - 1), next.getValue, next.getKey)
    }
    require(!bag.at(-1) && !bag.at(model.rows), "there is a row that is not there")
  }

  private def walk(change: Boolean): Unit = {
    val (a, b) = (oldKey(), oldKey())
    val (low, high) = if (Arrays.compareUnsigned(a, b) <= 0) (a, b) else (b, a)
    val (isFrom, isTo) = (random.nextInt(4) > 0, random.nextInt(4) > 0)
    val forward = random.nextBoolean()
    val (from, to) = (if (isFrom) low else null, if (isTo) high else null)
    if (forward) cursor.forward(from, low.length, to, high.length) else cursor.backward(from, low.length, to, high.length)
    var stands: Array[Byte] = null
    var left = 1 + random.nextInt(300)
    var on = true
    while (on && left > 0) {
      left -= 1
      val follows =
        if (stands == null) {
          if (forward) (if (isFrom) model.entries.ceilingEntry(low) else model.entries.firstEntry)
          else if (isTo) model.entries.lowerEntry(high)
          else model.entries.lastEntry
        } else if (forward) model.entries.higherEntry(stands)
        else model.entries.lowerEntry(stands)
      val inside = follows != null && (if (forward) !isTo || Arrays.compareUnsigned(follows.getKey, high) < 0
                                       else !isFrom || Arrays.compareUnsigned(follows.getKey, low) >= 0)
      on = cursor.next()
      require(on == inside, s"the cursor says $on, not $inside")
      if (on) {
        stands = follows.getKey
        require(Arrays.equals(Arrays.copyOf(cursor.keyBytes, cursor.keySize), stands), "the cursor stands on another key")
        sameValue(cursor.count, cursor.valueBytes, cursor.valueOffset, cursor.valueSize, follows.getValue)
        if (change) random.nextInt(8) match {
          case 0 =>
            bag.remove(cursor.keyBytes, cursor.keySize)
            model.entries.remove(stands)
            require(!cursor.isThere, "the cursor does not see that its entry is gone")
          case 1 =>
            val value = newValue()
            bag.put(cursor.keyBytes, cursor.keySize, value, Platform.BYTE_ARRAY_OFFSET, value.length)
            model.entries.put(stands, (follows.getValue._1, value))
            sameValue(cursor.count, cursor.valueBytes, cursor.valueOffset, cursor.valueSize, model.entries.get(stands))
          case 2 => put()
          case 3 => find()
          case 4 => remove()
          case _ =>
        }
      }
    }
    if (!on) require(!cursor.next(), "the cursor goes on behind its end")
  }

  private def clear(): Unit = {
    bag.clear()
    model.entries.clear()
  }

  private def begin(): Unit = {
    bag.begin()
    saved = model.copy
  }

  private def rollback(): Unit = if (saved != null) {
    bag.rollback()
    model.entries = saved
    saved = model.copy
  }

  private def reopen(): Unit = {
    bag.close()
    saved = null
    val audit = Audit(store, pageSize)
    require((audit.entries, audit.rows) == ((model.entries.size.toLong, model.rows)), s"stored: $audit")
    bag.open(store)
  }

  private def compareAll(): Unit = {
    cursor.forward()
    model.entries.forEach { (key, entry) =>
      require(cursor.next() && Arrays.equals(Arrays.copyOf(cursor.keyBytes, cursor.keySize), key), "forward: another key")
      sameValue(cursor.count, cursor.valueBytes, cursor.valueOffset, cursor.valueSize, entry)
    }
    require(!cursor.next(), "forward: one too many")
    cursor.backward()
    model.entries.descendingMap.forEach { (key, entry) =>
      require(cursor.next() && Arrays.equals(Arrays.copyOf(cursor.keyBytes, cursor.keySize), key), "backward: another key")
      sameValue(cursor.count, cursor.valueBytes, cursor.valueOffset, cursor.valueSize, entry)
    }
    require(!cursor.next(), "backward: one too many")
  }

  // ---- what is compared

  private def same(there: Boolean, entry: (Long, Array[Byte]), key: Array[Byte]): Unit = {
    require(there == (entry != null), s"there: $there")
    if (there) {
      val storedKey = Arrays.copyOfRange(bag.keyBytes, bag.keyAt, bag.keyAt + bag.keySize)
      require(Arrays.equals(storedKey, key), "another key")
      sameValue(bag.count, bag.valueBytes, bag.valueOffset, bag.valueSize, entry)
    }
  }

  private def sameValue(count: Long, bytes: Array[Byte], offset: Long, size: Int, entry: (Long, Array[Byte])): Unit = {
    require(count == entry._1, s"count $count, not ${entry._1}")
    val at = (offset - Platform.BYTE_ARRAY_OFFSET).toInt
    require(at % 8 == 0, "the value is not aligned")
    require(Arrays.equals(Arrays.copyOfRange(bytes, at, at + size), entry._2), "another value")
  }

  // ---- what is put in

  private def newKey(): Array[Byte] =
    if (appending && random.nextInt(10) > 0) {
      lastNumber += 1 + random.nextInt(3)
      key(lastNumber)
    } else key(random.nextInt(2 * target + 8).toLong)

  /** Probably a key that is there. */
  private def oldKey(): Array[Byte] = {
    val candidate = key(if (appending) lastNumber - random.nextInt(2 * target + 8) else random.nextInt(2 * target + 8).toLong)
    val near = if (random.nextInt(5) > 0) model.entries.floorKey(candidate) else null
    if (near == null) candidate else near
  }

  /** Keys of one kind are in the order of their numbers, but for the kinds that are about prefixes and lengths. */
  private def key(number: Long): Array[Byte] = keyKind match {
    case 0 => Array.tabulate(8)(i => (number >>> (56 - 8 * i)).toByte)
    case 1 => // one long common beginning
      val bytes = Array.fill[Byte](40)(7)
      (0 until 8).foreach(i => bytes(32 + i) = (number >>> (56 - 8 * i)).toByte)
      bytes
    case 2 => // beginnings of each other, zeros, and the empty key
      Array.fill[Byte]((math.abs(number) % 23).toInt)((math.abs(number) % 3 - 1).toByte) ++ Array.fill[Byte]((math.abs(number) / 23 % 9).toInt)(0)
    case _ => // a few of them as large as pages
      val seeded = new java.util.Random(number)
      val bytes = new Array[Byte](if (seeded.nextInt(20) == 0) seeded.nextInt(3 * pageSize) else seeded.nextInt(30))
      seeded.nextBytes(bytes)
      bytes
  }

  private def newValue(): Array[Byte] = {
    val size = valueKind match {
      case 0 => 40
      case 1 => random.nextInt(80)
      case 2 => 0
      case _ => if (random.nextInt(30) == 0) random.nextInt(20480) else random.nextInt(60)
    }
    val bytes = new Array[Byte](size)
    random.nextBytes(bytes)
    bytes
  }
}
