"""How the surprise guard answers: one file for each kind of question (Surprise, sections 3 and 4).

Every question knows its menu before any record is looked at, picks the outcome from exact numbers,
and says what that outcome proves.
"""
