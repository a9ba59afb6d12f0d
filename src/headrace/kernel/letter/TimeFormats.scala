package headrace.letter

/** Formats of times as text. They keep microseconds, where Spark's default is milliseconds, so that a row can be read back unchanged. */
object TimeFormats {
  val Whole: Map[String, String] =
    Map("timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
}
