"""A plan compiled for Spark: queries of levels, what operators keep, the document that the kernel reads. Knows no checkpoint."""
