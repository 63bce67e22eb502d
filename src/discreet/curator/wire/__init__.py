"""The curator as a PostgreSQL server, for programs that speak to nothing else."""
