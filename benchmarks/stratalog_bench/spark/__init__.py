"""How long the Spark engine takes, beside the loop that one writes by hand."""
