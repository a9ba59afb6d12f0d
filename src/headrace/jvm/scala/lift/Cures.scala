package headrace.lift

/** What a user is told to write instead. */
private object Cures {
  val asOf = "write it with the verb: orders.join_asof(rates, on='pair', time=('ts', 'at'))"
  val systemTime = "orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.pair = r.pair"
  val versions = "give it a watermark where it is read: rates.watermark('at', '5 minutes')"
  val chance = "take the value from a column of the rows: it must be the same when a row is taken away again"
  val clock = "keep rows for a time with a comparison: WHERE ts > current_timestamp() - INTERVAL 1 HOUR; else make it a column of the rows first: SELECT *, current_timestamp() AS at FROM t"
  val constant = "write its value into the query"
  val correlated = "join the two tables instead"
  val count = "count with an aggregate of its own"
  val deduplicated = "use dropDuplicates, which needs no watermark"
  val expression = "say it with other functions of Spark SQL"
  val frame = "read the rows with hr.read and build the DataFrame over stream.as_dataframe()"
  val measure = "write the aggregate itself: sum(...)"
  val node = "say it with SELECT, JOIN, GROUP BY, window functions and set operations"
  val outside = "write it with functions of Spark SQL; Python and other programs have no place inside a query that is kept up to date"
  val python = "write it with functions of Spark SQL, or in Java or Scala: spark.udf.registerJavaFunction(name, class), spark.udf.registerJavaUDAF(name, class)"
  val recursion = "write the steps out as joins, or keep the closure in a state program"
  val sample = "choose by a column: WHERE pmod(xxhash64(id), 100) < 10"
  val session = "register it under a name that Spark does not have, and call it by that: the plan keeps the name"
  val sessions = "keep sessions in a state program: stream.key_by(...).process(...)"
  val statement = "give one SELECT; what it reads and writes is said by hr.read and .write"
  val table = "give it as a keyword: hr.sql(..., name=stream)"
  val values = "write the rows that you need as VALUES"
  val vector = "give the initialisation vector from a column of the rows: aes_encrypt(text, key, 'GCM', 'DEFAULT', vector)"
  val windows = "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND), HOP(..., slide, size) or CUMULATE(..., step, size)"
}
