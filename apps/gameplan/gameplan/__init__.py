"""A discussion app: sites by Host header, each on a database of its own."""

VERSION = "1.0"
