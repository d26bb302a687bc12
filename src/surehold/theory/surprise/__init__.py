"""The surprise guard: pay for what surprises you.

Answers are outcomes from menus whose weights were fixed before looking. What an outcome costs is
its surprise, -ln(weight), and every interval that is claimed later is as much wider as the
surprises so far demand. "Surprise" in the docstrings is docs/explanation/surprise-theorem.md, which
has the theorem, its proof and every claim.

Everything that people give is an exact fraction, prices are whole numbers, and an end is a multiple
of a unit that was itself decided with thirty digits. So two programs agree to the last digit.
"""
