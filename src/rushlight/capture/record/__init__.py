"""Recording: a call runs while a recorder listens at the door."""
