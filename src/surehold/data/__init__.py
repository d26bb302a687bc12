"""Records that grow, stored as segments, and the engines that sum them."""
