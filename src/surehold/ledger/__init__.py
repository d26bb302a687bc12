"""What happened: durable entries in a hash chain, the filter, and replay."""
