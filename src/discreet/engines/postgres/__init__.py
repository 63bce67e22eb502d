"""PostgreSQL: the data stay on the server, which computes the exact sums."""
