"""Client of the capability API: discover, inspect, call."""
