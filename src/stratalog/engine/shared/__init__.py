"""What engines have in common."""
