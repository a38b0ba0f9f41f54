"""Conformance: calls with their results (DESIGN, section 6), written from the models and replayed on engines."""
