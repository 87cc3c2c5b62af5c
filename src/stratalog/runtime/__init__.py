"""What all parts need from the operating system; it knows nothing of facts."""
