"""askbus: the bus between software agents and the people they work for."""
