"""Claims against every small neighbour, exactly: laws, prices, stability, whole queries."""
