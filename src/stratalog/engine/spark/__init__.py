"""Facts in Spark: rules become joins of DataFrames."""
