"""`make demo`: the whole of askbus once, played over its public HTTP API and the bus, and checked step by step.

The model is a script in a process of its own, behind the real SDK; everything else is what `askbus up` runs.
"""
