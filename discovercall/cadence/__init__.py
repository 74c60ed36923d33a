"""The release cadence: one approved, paid run per release, and its results as a draft pull request."""
