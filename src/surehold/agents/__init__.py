"""A dataset for agents: the tools of the Model Context Protocol, over stdio and HTTP.

Tools translate between a model and a session; they compute nothing. What they give back is what
every other surface gives: the results' own dictionaries, and the one shape of an error.
"""
