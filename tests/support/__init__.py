"""What tests share: running services, datasets, oracles, clocks and attacks."""
