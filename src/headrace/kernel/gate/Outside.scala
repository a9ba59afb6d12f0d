package org.apache.spark.sql.headrace

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, ScalaUDF, UserDefinedExpression}
import org.apache.spark.sql.execution.aggregate.{ScalaAggregator, ScalaUDAF}

/** Functions whose code is not Spark's. A plan has only their names: the session that starts a job has to register them. */
object Outside {

  /** The names of those in some expressions. */
  def names(all: Iterable[Expression]): Seq[String] =
    all.flatMap(_.collect { case u: UserDefinedExpression => u.name }).toSeq.distinct

  /** The name under which it is registered. */
  def name(e: Expression): Option[String] = e match {
    case u: ScalaUDAF => u.udafName
    case a: ScalaAggregator[_, _, _] => a.aggregatorName
    case f: ScalaUDF => f.udfName
    case _ => None
  }

  /** Whether this session resolves it by its name. A name that Spark also has could be another function in the next session. */
  def isRegistered(session: SparkSession, e: Expression): Boolean = name(e).exists(new SessionSql(session).isRegistered)

  /** Whether both run the same code. A function that `CREATE FUNCTION` defines by its class has a new instance for each call. */
  def same(a: Expression, b: Expression): Boolean = (code(a), code(b)) match {
    case (Some(x), Some(y)) => x == y || x.getClass == y.getClass && x.getClass.getConstructors.exists(_.getParameterCount == 0)
    case _ => false
  }

  private def code(e: Expression): Option[AnyRef] = e match {
    case u: ScalaUDAF => Some(u.udaf)
    case a: ScalaAggregator[_, _, _] => Some(a.agg)
    case f: ScalaUDF => Some(f.function)
    case _ => None
  }
}
