package headrace.letter

/** What `hr.reject` throws: the row goes to the dead letters with this reason. No stack trace: it is no failure of the code. */
final class Rejected(reason: String) extends RuntimeException(reason, null, false, false)
