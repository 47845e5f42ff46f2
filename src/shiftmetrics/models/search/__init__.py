"""What a route finds for each sample, and the searches that routes share."""
