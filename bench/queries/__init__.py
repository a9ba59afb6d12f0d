"""What keeping queries up to date costs (`make bench-queries`)."""
