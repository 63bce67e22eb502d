"""Spark: the data stay on the cluster, which computes the exact sums."""
