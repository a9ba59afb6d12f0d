package headrace.lift

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.parser.{SqlBaseLexer, SqlBaseParser}

/** Names that depend only on the names wanted and their order, so that an unchanged part of a query keeps them. */
object DistinctNames {

  /** Makes names distinct: the first to want a name gets it, later ones get `name_2`, `name_3`, ….
    *
    * Names in `taken` are not given. First occurrences are served first: `a, a, a_2` becomes `a, a_3, a_2`.
    */
  def distinct(wanted: Seq[String], taken: Iterable[String] = Nil): Seq[String] = {
    val used = mutable.Set.from(taken.map(fold))
    val first = wanted.map(w => used.add(fold(w)))
    wanted.zip(first).map {
      case (w, true) => w
      case (w, false) =>
        val name = Iterator.from(2).map(n => s"${w}_$n").find(n => !used(fold(n))).get
        used += fold(name)
        name
    }
  }

  def fold(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Writes a name as SQL text. */
  def quoted(name: String): String =
    if (name.matches("[A-Za-z_][A-Za-z0-9_]*") && !keywords(name.toUpperCase(Locale.ROOT))) name
    else "`" + name.replace("`", "``") + "`"

  /** The grammar's words that cannot be names under its strictest reading, and those that begin a literal or a constructor.
    *
    * Read from the grammar's own tables: parsing each word would take seconds in a new JVM.
    */
  private lazy val keywords: Set[String] = {
    val vocabulary = SqlBaseLexer.VOCABULARY
    val grammar = SqlBaseParser._ATN
    val names = grammar.nextTokens(grammar.ruleToStartState(SqlBaseParser.RULE_ansiNonReserved))
    val words = (0 to vocabulary.getMaxTokenType).filterNot(names.contains).flatMap(i => Option(vocabulary.getLiteralName(i)))
    val openers = Set("TRUE", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL", "X", "ARRAY", "MAP", "STRUCT")
    words.map(_.stripPrefix("'").stripSuffix("'")).toSet ++ openers
  }
}

/** The columns that texts may refer to, with their attributes. */
final case class Scope(columns: Seq[(Attribute, String)]) {
  private lazy val byId: Map[ExprId, String] = columns.reverseIterator.map { case (a, name) => a.exprId -> name }.toMap

  def name(attribute: Attribute): Option[String] = byId.get(attribute.exprId)
  def names: Seq[String] = columns.map(_._2)
  def ++(other: Scope): Scope = Scope(columns ++ other.columns)
}
