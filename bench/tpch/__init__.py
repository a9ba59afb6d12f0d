"""TPC-H as a database that changes: one job keeps its 22 queries up to date, against answering them anew (`make bench-tpch`)."""
