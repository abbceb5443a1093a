"""`gitmem hook EVENT`: what an agent asks and tells while it works; one module an agent."""
