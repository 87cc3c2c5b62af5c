"""Knowledge bases in stores: saved, opened, checked."""
