"""What scripts for other frameworks meet: our modules under their names, answers where one is missing, their loops traced."""
