"""Regular expressions of XPath and XQuery (Functions and Operators 3.1), in bounded time."""
