"""The tool catalog, its search, and the servers that offer it."""
