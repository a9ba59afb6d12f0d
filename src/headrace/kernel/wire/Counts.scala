package headrace.wire

/** The metrics of an operator's input. Over a run, in = handled + late + dead + held; `filtered` rows were dropped on the way to the
  * operator. `keys` belongs to the operator, under side 0: the number of keys with state.
  */
object Counts {
  val Handled = 0
  val Late = 1
  val Dead = 2
  val Held = 3
  val In = 4
  val Filtered = 5
  val Keys = 6
  val names: Array[String] = Array("handled", "late", "dead", "held", "in", "filtered", "keys")
}
