"""What tables of Parquet files have in common, whoever keeps their log."""
