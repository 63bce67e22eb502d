"""Where the entries of a ledger are stored: connections, transactions, the database of one ledger."""
