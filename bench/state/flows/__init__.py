"""The programs as bytewax flows. They run under an interpreter of their own, which has bytewax and pyarrow but not headrace."""
