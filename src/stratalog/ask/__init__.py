"""Answers: queries over a materialisation."""
