"""Menus: what may be reported, and with what weight, fixed before looking (Surprise, section 4).

A menu is a function of the past alone. Observed values only choose one of its outcomes.
"""
