"""The Spark session: Java, interpreter and settings, each with its reason."""
