"""Programs that try to be computed otherwise in a traced loop than in an eager one."""
