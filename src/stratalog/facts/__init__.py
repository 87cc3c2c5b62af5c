"""The algebra of fact sets, and the protocol every engine implements."""
