"""A plan compiled for Spark: queries of levels, what operators keep, the document for the kernel. Depends on no checkpoint."""
