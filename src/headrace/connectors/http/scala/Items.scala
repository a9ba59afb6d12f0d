package headrace.connectors.http

import com.fasterxml.jackson.core.{JsonFactory, JsonParser, JsonProcessingException, JsonToken}

/** The objects of a response, each as its original text: numbers keep their digits. */
private[http] object Items {
  private val factory = new JsonFactory

  /** The objects of the list at a path of fields, or the single object there; none if it is null or the text is empty. */
  def apply(text: String, path: Seq[String]): Seq[String] = {
    val parser = factory.createParser(text)
    try {
      if (parser.nextToken() == null) Nil
      else {
        path.foreach(enter(parser, _))
        val items = parser.currentToken match {
          case JsonToken.VALUE_NULL => Nil
          case JsonToken.START_ARRAY =>
            Iterator.continually(parser.nextToken()).takeWhile(_ != JsonToken.END_ARRAY).map(_ => item(parser, text)).toVector
          case _ => Seq(item(parser, text))
        }
        // A truncated text is only detected at its end.
        while (parser.nextToken() != null) ()
        items
      }
    } catch { case e: JsonProcessingException => throw new NoItems(s"the response is not JSON: ${e.getOriginalMessage}") }
    finally parser.close()
  }

  private def enter(parser: JsonParser, field: String): Unit = {
    if (parser.currentToken != JsonToken.START_OBJECT) throw new NoItems(s"the response has no `$field`")
    while (parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != field) {
      parser.nextToken()
      parser.skipChildren()
    }
    if (parser.currentToken != JsonToken.FIELD_NAME) throw new NoItems(s"the response has no `$field`")
    parser.nextToken()
  }

  private def item(parser: JsonParser, text: String): String = {
    if (parser.currentToken != JsonToken.START_OBJECT) throw new NoItems("the response has a value that is not an object")
    val begin = parser.currentTokenLocation.getCharOffset.toInt
    parser.skipChildren()
    text.substring(begin, parser.currentLocation.getCharOffset.toInt)
  }
}

/** A response that cannot contain rows, whatever the request. */
private[http] final class NoItems(message: String) extends RuntimeException(message)
