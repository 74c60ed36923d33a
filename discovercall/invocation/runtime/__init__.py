"""The agent runtime: chat clients, events, the two modes, the session store and the output stream."""
