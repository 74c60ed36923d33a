"""The adapter process protocol: requests, strict schemas, spawning with limits."""
