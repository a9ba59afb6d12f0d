package headrace.letter

/** How times are written as text: Spark writes milliseconds unless it is told otherwise, and a row is to be read as it was. */
object Moments {
  val Whole: Map[String, String] =
    Map("timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
}
