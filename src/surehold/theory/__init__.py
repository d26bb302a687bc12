"""Pure arithmetic: every bound of the paper and the sharp bound, as functions of numbers.

Nothing in here keeps state, reads a clock, touches a disk or draws a random number. Functions cite
the theorem they transcribe and take its free constants as arguments; choosing the constants is the
business of :mod:`surehold.theory.certificates`.
"""
