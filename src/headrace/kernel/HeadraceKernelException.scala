package headrace

/** A failure that the kernel can explain. `code` is the error code of headrace's table, `node` the plan node, `site` the user's line; each
  * is null if unknown. `hint` is the cure, for codes without one in the driver.
  */
final class HeadraceKernelException(
    val code: String,
    message: String,
    val node: String = null,
    val site: String = null,
    cause: Throwable = null,
    val hint: String = null)
    extends RuntimeException(message, cause)
