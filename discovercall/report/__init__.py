"""One report model, several renderings."""
