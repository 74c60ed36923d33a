"""What everything else stands on; knows nothing of the rest."""
