package headrace.letter

/** The exception of `hr.reject`: the row becomes a dead letter with this reason. It has no stack trace, because the code did not fail. */
final class Rejected(reason: String) extends RuntimeException(reason, null, false, false)
