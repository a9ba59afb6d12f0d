package headrace

/** A task that rests: the words are its share, the rows, and the nanoseconds of work for each. Prints those of work and of rest. */
object PaceTrial {
  def main(words: Array[String]): Unit = {
    val (share, rows, work) = (words(0).toDouble, words(1).toInt, words(2).toLong)
    var now = 0L
    var rested = 0L
    val pace = new Pace(share, () => now, nanos => { now += nanos; rested += nanos })
    (0 until rows).foreach { _ =>
      now += work
      pace.tick()
    }
    println(s"${rows * work} $rested")
  }
}
