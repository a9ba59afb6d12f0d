package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, BitAndAgg, DeclarativeAggregate, Max}

/** The accumulators of bound calls. */
private[aggregate] object Accumulators {
  def of(call: Call, specs: Seq[Multiset.Spec], sets: Array[Multiset]): Accumulator = {
    def declared = call.function.asInstanceOf[DeclarativeAggregate]
    def column = call.columns.head
    def set = sets(call.set)
    call.kind match {
      case Kind.Counted => new Count(call.columns.toArray)
      case Kind.Whole => new Wholes(declared, column)
      case Kind.OfDecimals => new Decimals(declared, column)
      case Kind.OfDoubles => new Doubles(call.function.isInstanceOf[Average], column)
      case Kind.OfMoments => new Moments(declared, column)
      case Kind.OfPairs => new Pairs(declared, column, call.columns(1))
      case Kind.OfTruths => new Truths(call.function.isInstanceOf[Max], column)
      case Kind.OfBits => new Bits(call.function.isInstanceOf[BitAndAgg], call.function.dataType, column)
      case Kind.OfParity => new Parity(call.function.dataType, column)
      case Kind.AtEnd(end) => new Ends(end, set, call.function.dataType)
      case Kind.AtEndBy(isFirst) =>
        new EndsBy(isFirst, set, new Arguments(Arguments.leading(specs(call.set).arguments)), call.function.dataType)
      case Kind.Kept(end, by, arguments) => new Best(end, arguments, by)
      case Kind.Again(columns) => new Recomputed(call.function, columns, set, call.once)
    }
  }
}
