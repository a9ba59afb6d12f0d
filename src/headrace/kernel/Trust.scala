package headrace

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.security.KeyStore
import java.security.cert.{CertificateException, CertificateFactory, CertPathValidatorException}
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.jdk.CollectionConverters._

/** TLS contexts for servers whose certificates the user gives. */
private[headrace] object Trust {

  /** Makes a context that trusts only the certificates of a text in PEM format. The text comes from the driver: executors need no file. */
  def only(pem: String): SSLContext = {
    val store = KeyStore.getInstance(KeyStore.getDefaultType)
    store.load(null, null)
    certificates(pem).zipWithIndex.foreach { case (one, i) => store.setCertificateEntry(s"ca$i", one) }
    val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trust.init(store)
    val context = SSLContext.getInstance("TLS")
    context.init(null, trust.getTrustManagers, null)
    context
  }

  private def certificates(pem: String) =
    try CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem.getBytes(US_ASCII))).asScala
    catch {
      case e: CertificateException =>
        throw new HeadraceKernelException("BAD_OPTION", s"the certificates of `ca` cannot be read: ${e.getMessage}", cause = e)
    }

  def causes(e: Throwable): Iterator[Throwable] = Iterator.iterate(e)(_.getCause).takeWhile(_ != null)

  /** Whether a connection failed because the server's certificate is not trusted. */
  def isMissing(e: Throwable): Boolean =
    causes(e).exists(one => one.isInstanceOf[CertificateException] || one.isInstanceOf[CertPathValidatorException])

  /** The hint for that, for connectors with the option `ca`. */
  val cure: String = "check that the certificate is valid for the host in the address, and signed by the authority in ca=\"ca.pem\""
}
