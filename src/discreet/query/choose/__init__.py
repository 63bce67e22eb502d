"""What a query leaves open is chosen in its own charge: clips, value bounds, groups that nobody listed."""
