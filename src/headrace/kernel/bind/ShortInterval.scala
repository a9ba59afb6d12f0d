package headrace.bind

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.types._

/** Adds a constant interval of less than a day as microseconds. Spark uses a calendar, whose result differs only for whole days, where a
  * time zone has a day of another length.
  */
private object ShortInterval extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.mapExpressions(_.transformUp {
    case TimestampAddInterval(start, Literal(micros: Long, _: DayTimeIntervalType), _)
        if (start.dataType == TimestampType || start.dataType == TimestampNTZType) && math.abs(micros) < MICROS_PER_DAY =>
      val moved = Add(PreciseTimestampConversion(start, start.dataType, LongType), Literal(micros), EvalMode.ANSI)
      PreciseTimestampConversion(moved, LongType, start.dataType)
  })
}
