package headrace.lift

/** What a user is told to write instead. */
private object Cures {
  val expression = "say it with other functions of Spark SQL"
  val table = "give it as a keyword: hr.sql(..., name=stream)"
  val frame = "build the DataFrame over stream.as_dataframe() of the streams it reads"
  val python = "write it with functions of Spark SQL; a Python function has no place inside a query that is kept up to date"
  val session = "write its expression into the query; a function that only this session knows is not there when the job starts again"
  val clock = "take the time from a column of the rows, or use a state program with a timer"
  val chance = "take the value from a column of the rows: it must be the same when a row is taken away again"
  val recursion = "write the steps out as joins, or keep the closure in a state program"
  val sample = "choose by a column: WHERE pmod(xxhash64(id), 100) < 10"
  val node = "say it with SELECT, JOIN, GROUP BY, window functions and set operations"
  val correlated = "join the two tables instead"
  val statement = "give one SELECT; what it reads and writes is said by hr.read and .write"
}
