"""Reading and writing at places given by numbers or masks."""
