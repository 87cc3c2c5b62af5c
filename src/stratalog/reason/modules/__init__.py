"""Rule modules: 000's algorithms, and the functions that they plug in."""
