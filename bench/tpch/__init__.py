"""TPC-H as a database that changes: its 22 queries kept up to date by one job, against answering them anew (`make bench-tpch`)."""
