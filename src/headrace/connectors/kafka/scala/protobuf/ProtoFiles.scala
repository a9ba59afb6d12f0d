package headrace.kafka

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.sparkproject.spark_core.protobuf._
import org.sparkproject.spark_core.protobuf.DescriptorProtos.{FileDescriptorProto, FileDescriptorSet}
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, DescriptorValidationException, FileDescriptor}

/** Protobuf files with resolved names: from texts, or from the output of `protoc`. Uses the runtime of Spark's core. */
private[kafka] object ProtoFiles {

  /** Links a file, given its text and the texts of its imports, by name. */
  def of(text: String, files: Map[String, String]): FileDescriptor = {
    val linked = mutable.HashMap.empty[String, FileDescriptor]
    def named(name: String, path: List[String]): FileDescriptor = linked.getOrElseUpdate(
      name, {
        if (path.contains(name)) throw new IllegalArgumentException(s"$name imports itself")
        val source = files.get(name).orElse(texts.get(name))
        source.map(text => link(ProtoText.read(name, text), named(_, name :: path))).orElse(known.get(name)).getOrElse {
          throw new IllegalArgumentException(s"it imports $name, which does not exist")
        }
      })
    link(ProtoText.read("schema.proto", text), named(_, Nil))
  }

  /** Links the files of a set, imports first. */
  def of(set: Array[Byte]): Seq[FileDescriptor] = {
    val all = FileDescriptorSet.parseFrom(set).getFileList.asScala.map(file => file.getName -> file).toMap
    val linked = mutable.LinkedHashMap.empty[String, FileDescriptor]
    def named(name: String, path: List[String]): FileDescriptor = linked.getOrElse(
      name, {
        if (path.contains(name)) throw new IllegalArgumentException(s"$name imports itself")
        val file = all.get(name).map(link(_, named(_, name :: path))).orElse(known.get(name)).getOrElse {
          throw new IllegalArgumentException(s"it imports $name, which does not exist")
        }
        linked(name) = file
        file
      })
    FileDescriptorSet.parseFrom(set).getFileList.asScala.map(file => named(file.getName, Nil)).toSeq
  }

  /** A file with everything that it imports, as a set. */
  def set(file: FileDescriptor): Array[Byte] = {
    val protos = mutable.LinkedHashMap.empty[String, FileDescriptorProto]
    def add(one: FileDescriptor): Unit = if (!protos.contains(one.getName)) {
      one.getDependencies.forEach(add(_))
      protos(one.getName) = one.toProto
    }
    add(file)
    FileDescriptorSet.newBuilder().addAllFile(protos.values.asJava).build().toByteArray
  }

  /** Finds a message by its full name, or by its last name if that is unique; "" is the first one. */
  def message(files: Seq[FileDescriptor], name: String): Descriptor = {
    val all = files.flatMap(_.getMessageTypes.asScala).flatMap(withInner)
    val field =
      if (name.isEmpty) files.lastOption.flatMap(_.getMessageTypes.asScala.headOption).toSeq
      else {
        val full = all.filter(_.getFullName == name)
        if (full.nonEmpty) full.take(1) else all.filter(_.getName == name)
      }
    field match {
      case Seq(one) => one
      case Seq() if name.isEmpty => throw new IllegalArgumentException("it has no message")
      case Seq() =>
        val others = all.filterNot(one => known.contains(one.getFile.getName)).map(_.getFullName).take(10)
        throw new IllegalArgumentException(s"it has no message $name; it has ${others.mkString(", ")}")
      case several => throw new IllegalArgumentException(s"it has several messages $name: ${several.map(_.getFullName).mkString(", ")}")
    }
  }

  private def withInner(message: Descriptor): Seq[Descriptor] =
    if (message.getOptions.getMapEntry) Nil else message +: message.getNestedTypes.asScala.toSeq.flatMap(withInner)

  private def link(file: FileDescriptorProto, imported: String => FileDescriptor): FileDescriptor =
    try FileDescriptor.buildFrom(strict(file), file.getDependencyList.asScala.map(imported).toArray)
    catch { case e: DescriptorValidationException => throw new IllegalArgumentException(e.getMessage, e) }

  /** Makes readers of proto2 refuse bytes that are not UTF-8, like those of proto3. By default they replace them by U+FFFD. */
  private def strict(file: FileDescriptorProto): FileDescriptorProto =
    if (file.getSyntax == "proto3") file
    else file.toBuilder.setOptions(file.getOptions.toBuilder.setJavaStringCheckUtf8(true)).build()

  /** Google's own files, which every runtime includes. */
  private lazy val known: Map[String, FileDescriptor] = Seq(
    AnyProto.getDescriptor,
    ApiProto.getDescriptor,
    DescriptorProtos.getDescriptor,
    DurationProto.getDescriptor,
    EmptyProto.getDescriptor,
    FieldMaskProto.getDescriptor,
    SourceContextProto.getDescriptor,
    StructProto.getDescriptor,
    TimestampProto.getDescriptor,
    TypeProto.getDescriptor,
    WrappersProto.getDescriptor).map(file => file.getName -> file).toMap

  /** Further files that a registry presupposes, as far as readers need them. */
  private val texts: Map[String, String] = Map(
    "confluent/meta.proto" ->
      """syntax = "proto3"; package confluent;
        |message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }""".stripMargin,
    "confluent/type/decimal.proto" ->
      """syntax = "proto3"; package confluent.type;
        |message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""".stripMargin,
    "confluent/types/decimal.proto" -> """syntax = "proto3"; import public "confluent/type/decimal.proto";""",
    "google/type/date.proto" ->
      """syntax = "proto3"; package google.type;
        |message Date { int32 year = 1; int32 month = 2; int32 day = 3; }""".stripMargin,
    "google/type/timeofday.proto" ->
      """syntax = "proto3"; package google.type;
        |message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }""".stripMargin,
    "google/type/money.proto" ->
      """syntax = "proto3"; package google.type;
        |message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }""".stripMargin,
    "google/type/latlng.proto" ->
      """syntax = "proto3"; package google.type;
        |message LatLng { double latitude = 1; double longitude = 2; }""".stripMargin)
}
