package headrace.lookup

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.security.KeyStore
import java.security.cert.{CertificateException, CertificateFactory}
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.jdk.CollectionConverters._

/** Whom a client believes that speaks TLS. */
object Trust {

  /** A context that trusts the certificates of a text in PEM format and no others. The text comes from the driver: executors need no file. */
  def only(pem: String): SSLContext =
    try {
      val store = KeyStore.getInstance(KeyStore.getDefaultType)
      store.load(null, null)
      val found = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem.getBytes(US_ASCII)))
      found.asScala.zipWithIndex.foreach { case (one, i) => store.setCertificateEntry(s"ca$i", one) }
      val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
      trust.init(store)
      val context = SSLContext.getInstance("TLS")
      context.init(null, trust.getTrustManagers, null)
      context
    } catch { case e: CertificateException => throw new Unanswerable(s"the certificates of `ca` cannot be read: ${e.getMessage}", e) }
}
