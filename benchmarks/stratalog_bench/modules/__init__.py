"""What rule modules bring: Tables 1 and 2 of 000, and figures that they are to reach."""
