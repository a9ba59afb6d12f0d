package headrace.kafka

import scala.collection.mutable

import org.sparkproject.spark_core.protobuf.{ByteString, UnknownFieldSet}
import org.sparkproject.spark_core.protobuf.DescriptorProtos._
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}

/** Parses a `.proto` file into its descriptor; names are resolved when it is linked. Registries store such texts, and each schema id that a
  * task encounters may refer to another one, so they are parsed here and not by `protoc`.
  *
  * Options are ignored, except `packed`, `default` and Confluent's `field_meta`; so are services and extensions. Groups and editions are
  * refused.
  */
private[kafka] final class ProtoText(name: String, text: String) {
  private val tokens = ProtoText.tokens(text)
  private var at = 0

  def file(): FileDescriptorProto = {
    val file = FileDescriptorProto.newBuilder().setName(name)
    while (at < tokens.length) next() match {
      case ";" => ()
      case "syntax" =>
        take("=")
        file.setSyntax(string())
        take(";")
      case "edition" => throw wrong("it has an edition, but only proto2 and proto3 are supported")
      case "import" =>
        if (took("public")) file.addPublicDependency(file.getDependencyCount) else took("weak")
        file.addDependency(string())
        take(";")
      case "package" =>
        file.setPackage(path())
        take(";")
      case "option" => statement()
      case "message" => file.addMessageType(message(file.getSyntax == "proto3"))
      case "enum" => file.addEnumType(enumeration())
      case "service" | "extend" =>
        path()
        block()
      case other => throw wrong(s"unexpected `$other`")
    }
    file.build()
  }

  private def message(proto3: Boolean): DescriptorProto.Builder = {
    val builder = DescriptorProto.newBuilder().setName(next())
    val optional = mutable.ArrayBuffer.empty[Int]
    take("{")
    while (!took("}")) next() match {
      case ";" => ()
      case "message" => builder.addNestedType(message(proto3))
      case "enum" => builder.addEnumType(enumeration())
      case "option" | "extensions" => statement()
      case "reserved" => reserved(builder)
      case "extend" =>
        path()
        block()
      case "oneof" => choice(builder)
      case "map" if peek == "<" => builder.addField(map(builder))
      case label @ ("optional" | "required" | "repeated") =>
        val of = field(next()).setLabel(Label.valueOf(s"LABEL_${label.toUpperCase}"))
        if (proto3 && label == "optional") optional += builder.getFieldCount
        builder.addField(of)
      case first => builder.addField(field(first).setLabel(Label.LABEL_OPTIONAL))
    }
    // An optional field of proto3 is a oneof of its own; these oneofs follow the others.
    optional.foreach { i =>
      val of = builder.getFieldBuilder(i)
      of.setProto3Optional(true).setOneofIndex(builder.getOneofDeclCount)
      builder.addOneofDecl(OneofDescriptorProto.newBuilder().setName(s"_${of.getName}"))
    }
    builder
  }

  private def choice(builder: DescriptorProto.Builder): Unit = {
    val index = builder.getOneofDeclCount
    builder.addOneofDecl(OneofDescriptorProto.newBuilder().setName(next()))
    take("{")
    while (!took("}")) next() match {
      case ";" => ()
      case "option" => statement()
      case first => builder.addField(field(first).setLabel(Label.LABEL_OPTIONAL).setOneofIndex(index))
    }
  }

  /** A map is a list of messages with a key and a value. */
  private def map(builder: DescriptorProto.Builder): FieldDescriptorProto.Builder = {
    take("<")
    val key = typed(next())
    take(",")
    val value = typed(next())
    take(">")
    val of = rest(FieldDescriptorProto.newBuilder())
    val entry = of.getName.split("_").map(_.capitalize).mkString + "Entry"
    builder.addNestedType(
      DescriptorProto.newBuilder().setName(entry).setOptions(MessageOptions.newBuilder().setMapEntry(true))
        .addField(key.setName("key").setNumber(1).setLabel(Label.LABEL_OPTIONAL))
        .addField(value.setName("value").setNumber(2).setLabel(Label.LABEL_OPTIONAL)))
    of.setLabel(Label.LABEL_REPEATED).setTypeName(entry)
  }

  private def field(first: String): FieldDescriptorProto.Builder = {
    if (first == "group") throw wrong("it has a group")
    rest(typed(first))
  }

  private def typed(first: String): FieldDescriptorProto.Builder = {
    val name = path(first)
    val of = FieldDescriptorProto.newBuilder()
    ProtoText.scalars.get(name).fold(of.setTypeName(name))(of.setType)
  }

  private def rest(of: FieldDescriptorProto.Builder): FieldDescriptorProto.Builder = {
    of.setName(next())
    take("=")
    of.setNumber(number())
    if (took("[")) options { (name, value) =>
      (name, value) match {
        case ("packed", text: String) => of.getOptionsBuilder.setPacked(text == "true")
        case ("default", text: String) => of.setDefaultValue(text)
        case (ProtoText.Meta, entries: Seq[_]) => of.getOptionsBuilder.setUnknownFields(ProtoText.meta(entries))
        case _ => ()
      }
    }
    take(";")
    of
  }

  private def enumeration(): EnumDescriptorProto.Builder = {
    val builder = EnumDescriptorProto.newBuilder().setName(next())
    take("{")
    while (!took("}")) next() match {
      case ";" => ()
      case "option" | "reserved" => statement()
      case name =>
        take("=")
        builder.addValue(EnumValueDescriptorProto.newBuilder().setName(name).setNumber(number()))
        if (took("[")) options((_, _) => ())
        take(";")
    }
    builder.setOptions(EnumOptions.newBuilder().setAllowAlias(true))
  }

  private def reserved(builder: DescriptorProto.Builder): Unit =
    if (!peek.headOption.exists(_.isDigit)) statement()
    else {
      while ({
        val start = number()
        val end = if (!took("to")) start else if (took("max")) ProtoText.Last else number()
        builder.addReservedRange(DescriptorProto.ReservedRange.newBuilder().setStart(start).setEnd(end + 1))
        took(",")
      }) ()
      take(";")
    }

  /** Parses options in brackets, after the opening one. */
  private def options(set: (String, Any) => Unit): Unit = while ({
    val name = if (took("(")) { val inner = path(); take(")"); s"($inner)${if (took(".")) s".${path()}" else ""}" }
    else path()
    take("=")
    set(name, value())
    if (took(",")) true
    else {
      take("]")
      false
    }
  }) ()

  /** Parses the value of an option: a text, a list of values, or pairs of names and values. */
  private def value(): Any = next() match {
    case "{" => pairs("}")
    case "<" => pairs(">")
    case "[" =>
      val all = mutable.ArrayBuffer.empty[Any]
      while (!took("]")) {
        all += value()
        took(",")
      }
      all.toSeq
    case sign @ ("-" | "+") => sign.stripPrefix("+") + next()
    case first if ProtoText.quoted(first) => unquoted(first) + strings()
    case first => path(first)
  }

  private def pairs(end: String): Seq[(String, Any)] = {
    val all = mutable.ArrayBuffer.empty[(String, Any)]
    while (!took(end)) {
      val name = if (took("[")) { val inner = path(); take("]"); inner }
      else next()
      took(":")
      all += name -> value()
      if (!took(",")) took(";")
    }
    all.toSeq
  }

  /** Skips to the next semicolon. */
  private def statement(): Unit = {
    var depth = 0
    while (depth > 0 || peek != ";") next() match {
      case "{" | "[" => depth += 1
      case "}" | "]" => depth -= 1
      case _ => ()
    }
    take(";")
  }

  private def block(): Unit = {
    take("{")
    var depth = 1
    while (depth > 0) next() match {
      case "{" => depth += 1
      case "}" => depth -= 1
      case _ => ()
    }
  }

  /** Parses a name with dots, which may begin with one. */
  private def path(first: String = null): String = {
    val path = new StringBuilder(if (first == null) next() else first)
    if (path.toString == ".") path.append(next())
    while (peek == ".") path.append(next()).append(next())
    path.toString
  }

  private def number(): Int = {
    val sign = if (took("-")) -1L else 1L
    val digits = next()
    val magnitude =
      try if (digits.startsWith("0x") || digits.startsWith("0X")) java.lang.Long.parseLong(digits.drop(2), 16) else digits.toLong
      catch { case _: NumberFormatException => throw wrong(s"expected a number, got `$digits`") }
    (sign * magnitude).toInt
  }

  private def string(): String = {
    val first = next()
    if (!ProtoText.quoted(first)) throw wrong(s"expected a string, got `$first`")
    unquoted(first) + strings()
  }

  /** Adjacent texts are concatenated. */
  private def strings(): String = if (ProtoText.quoted(peek)) unquoted(next()) + strings() else ""

  private def unquoted(token: String): String = {
    val inner = token.drop(1).dropRight(1)
    // Only defaults of bytes contain bytes as numbers, which a descriptor also escapes.
    try StringContext.processEscapes(inner)
    catch { case _: IllegalArgumentException => inner }
  }

  private def peek: String = if (at < tokens.length) tokens(at)._1 else ""

  private def next(): String = {
    if (at >= tokens.length) throw wrong("it ends too early")
    at += 1
    tokens(at - 1)._1
  }

  private def took(token: String): Boolean = {
    val isNext = peek == token
    if (isNext) at += 1
    isNext
  }

  private def take(token: String): Unit = {
    val actual = next()
    if (actual != token) throw wrong(s"expected `$token`, got `$actual`")
  }

  private def wrong(why: String) =
    new IllegalArgumentException(s"$name, line ${if (at == 0) 1 else tokens(at - 1)._2}: $why")
}

private[kafka] object ProtoText {
  def read(name: String, text: String): FileDescriptorProto = new ProtoText(name, text).file()

  private val Meta = "(confluent.field_meta)"

  /** The number of Confluent's option, and that of its `params`. */
  val MetaNumber = 1088
  val ParamsNumber = 2
  private val Last = 536870911

  private val Tokens =
    ("""(\s+|//[^\n]*|(?s:/\*.*?\*/))|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[A-Za-z_]\w*""" +
      """|0[xX][0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[{}\[\]()<>;,=:.+\-/])""").r

  private val scalars: Map[String, Type] =
    Seq("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",
      "string", "bytes").map(name => name -> Type.valueOf(s"TYPE_${name.toUpperCase}")).toMap

  private def quoted(token: String) = token.startsWith("\"") || token.startsWith("'")

  /** Each token with its line. */
  private def tokens(text: String): IndexedSeq[(String, Int)] = {
    val tokens = mutable.ArrayBuffer.empty[(String, Int)]
    val matcher = Tokens.pattern.matcher(text)
    var (at, line) = (0, 1)
    while (at < text.length) {
      matcher.region(at, text.length)
      if (!matcher.lookingAt()) throw new IllegalArgumentException(s"line $line: unexpected `${text.charAt(at)}`")
      if (matcher.group(2) != null) tokens += matcher.group(2) -> line
      line += matcher.group.count(_ == '\n')
      at = matcher.end
    }
    tokens.toIndexedSeq
  }

  /** `field_meta` as an unknown field, the form it has in descriptors that do not define the option. */
  private def meta(items: Seq[_]): UnknownFieldSet = {
    val params = items.collect { case ("params", all: Seq[_]) => if (all.forall(_.isInstanceOf[Seq[_]])) all else Seq(all) }.flatten
    val entries = UnknownFieldSet.Field.newBuilder()
    params.foreach {
      case pairs: Seq[_] =>
        val known = pairs.collect { case (name: String, text: String) => name -> text }.toMap
        val entry = UnknownFieldSet.newBuilder()
        for ((name, number) <- Seq("key" -> 1, "value" -> 2); text <- known.get(name)) entry.addField(number, bytes(text))
        entries.addLengthDelimited(entry.build().toByteString)
      case _ => ()
    }
    val inner = UnknownFieldSet.newBuilder().addField(ParamsNumber, entries.build()).build()
    UnknownFieldSet.newBuilder().addField(MetaNumber, UnknownFieldSet.Field.newBuilder().addLengthDelimited(inner.toByteString).build()).build()
  }

  private def bytes(text: String) = UnknownFieldSet.Field.newBuilder().addLengthDelimited(ByteString.copyFromUtf8(text)).build()
}
