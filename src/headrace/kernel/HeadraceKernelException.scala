package headrace

/** A failure the kernel can explain itself. `code` is the error code of headrace's table, `node` the plan node, `site` the user's line;
  * each is null where it is not known. `hint` is the cure, for codes that the
  * driver has none for.
  */
final class HeadraceKernelException(
    val code: String,
    message: String,
    val node: String = null,
    val site: String = null,
    cause: Throwable = null,
    val hint: String = null)
    extends RuntimeException(message, cause)
