"""The claims: one file a statistic, one interface for all (Surprise, section 3).

A claim says that the true mean p is where its statistic is below the level. So an end is where they
cross, and a gate compares them at its threshold.
"""
