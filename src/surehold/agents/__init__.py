"""A dataset for agents: Model Context Protocol tools, over stdio and HTTP.

Tools translate between a model and a session; they compute nothing. They return what every other
surface returns: the dictionaries of the results, and the one shape of an error.
"""
