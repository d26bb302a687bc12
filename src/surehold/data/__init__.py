"""What is asked about: records that grow, kept as segments, and the engines that sum them."""
