"""What a route finds for each sample, and the searches that several routes use."""
