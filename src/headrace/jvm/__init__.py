"""The border to the JVM: the session, the kernel's jar and the calls into it."""
