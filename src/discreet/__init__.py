"""discreet: ask questions of sensitive data; publish the answers safely."""
