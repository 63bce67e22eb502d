"""A unit of work as SQL: what all databases share, and one dialect for each of them."""
