package headrace.inspect

/** Rows for Python: their schema as DDL, and a pickled list of tuples of internal values. */
final class Answer(val schema: String, val rows: Array[Byte])
