"""Metrics: business figures that need more than an aggregate, each computed in one place. docs/metrics.md tells the whole of it."""
