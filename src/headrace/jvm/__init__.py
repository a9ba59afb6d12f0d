"""The border to the JVM: the session, the kernel's jar and what is asked of it."""
