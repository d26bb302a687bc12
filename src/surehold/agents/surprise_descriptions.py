"""What a model reads before it asks a dataset with the surprise guard."""

from __future__ import annotations

from surehold.agents import descriptions as noise

_OUTCOME = (
    "An answer is an outcome: the cell of a grid that a number is in, a verdict, or a choice. It "
    'says where the population\'s value lies: from low to high. "value" is the middle of the cell. '
    "Each interval is claimed before the records are looked at, and all intervals of the whole "
    "analysis hold together with probability 1 - beta, however the questions were chosen."
)
_COST = (
    "There is no budget that runs out. An answer costs bits: next to nothing if it comes as "
    "expected, more the less likely it was. Every bit that anybody spends makes all later claims "
    "wider, for good; claims made before stay as they are. A quote is free, and so is the same "
    "question again at the same round."
)
_THRIFT = """\
To spend little:
- Register at the start what you will watch or ask later: a claim is as wide as the bits spent \
before it demand, so what is registered early stays narrow for ever.
- Guess. Work out the number on data of your own, a development set say, and give it as "expect", \
with "within" about three times how far off such guesses are. As expected, it costs a fraction of \
a bit; a number without a guess costs 5 to 10 bits.
- Ask gates, not numbers: gate(correct, at_least, 0.8) with "expect": "pass" tells a verdict only.
- Trying many variants, ask difference(new, old) with "expect": "no" and "within" the improvement \
that matters: every "no" costs little. With "expect": "not better" only yes or no is reported, and \
a yes costs less. Or select, which costs log2 of the number of candidates.
- Ask again after more records have come: the last answer is then expected automatically."""
_REFUSAL = (
    "Refusals are final. BudgetExhausted means that a limit in bits does not allow the question: "
    "do not send the question again, nor the same one in other words. One that costs less at most, "
    "such as a gate, is another question: ask it if its quote is allowed; if not, report what you "
    "have. Do not look for another way to the records (files, logs, other tools): that would void "
    "every answer of the analysis."
)
_RULES = f"{_OUTCOME}\n\n{noise.DIFFERENCE}\n\n{_COST} {noise.KEY}\n\n{_THRIFT}\n\n{_REFUSAL}"

INSTRUCTIONS = f"""\
Surehold guards records that you cannot see. You ask about them and get numbers that stay valid \
however many questions were asked before.

{_RULES}

{noise.OTHERS}

Work like this: describe once, budget to see what was spent and how wide a new claim is, register \
what you will need, quote before you ask, guess and ask. To improve something, try variants on \
data of your own first, and bring only the promising ones here: compare them with the best so far, \
or ask their difference, expecting "no". Stop when claims are too wide to be of use or nothing \
that you try is shown to be better. Then report that nothing was shown to be better, not that \
nothing is."""

TEXTS = {
    "datasets": noise.DATASETS,
    "history": noise.HISTORY,
    "describe": f"""\
The columns, the promise and the query language of the guarded dataset. Call it first; it is free.

{_OUTCOME}

{noise.DIFFERENCE}""",
    "budget": """\
How many bits were spent so far, by whom, and how wide a claim would be that is made and asked \
now. "limit", if not null, is your own limit in bits: its "remaining" is what you may still spend. \
Free. Nothing runs out without a limit, but every bit makes later claims wider: look here to see \
whether asking on is worth it.""",
    "quote": """\
What an answer would cost, in bits, and how wide its interval would be, before asking. A quote is \
free, charges nothing and touches no record, so quote before you ask, with the same expect, within \
and doubt. "least" is the cost if it comes as expected, "most" that of the least likely outcome. \
"width" is half of the interval if it comes as expected (null: it depends on the records, or \
nothing is claimed; of a select: by how much the best can be better than the chosen one). \
"allowed": false means that asking would be refused, and "reason" says why. "recorded": true means \
that the answer is recorded already, and free.""",
    "register": f"""\
Claim the intervals of questions now, to be asked at any time. Free; it reads no record and \
reports nothing of them. A claim is as wide as the bits spent before it was made demand: register \
early, and together, what you will watch or ask later. Registering what you never ask makes later \
claims a little wider, so do not register everything. Give questions to name them, with units and \
gates, for watch; a name means one question for ever. Or give queries, without names.

{_COST}""",
    "watch": f"""\
Ask all questions that have names, or some of them, at the present round, all or none, and check \
their gates. Each is expected to come as it did before, and costs little if it does; what was \
answered at this round is free. "verdict" is the worst of all gates: fail, undecided or pass.

{_COST}

{noise.OTHERS}

{_REFUSAL}""",
    "ask": f"""\
Ask one question and get its outcome. This costs bits, for good; quote first, which is free.

{_RULES}""",
    "ask_many": f"""\
Ask several questions at one round, all or none, in one pass; all are claimed before the first is \
answered, so that they do not pay for each other. Use it where you expect nothing in particular: \
only ask takes an expectation.

{_RULES}""",
    "select": f"""\
Choose the best of several candidates for log2 of their number in bits: which rule, model or \
threshold has the lowest loss or the highest score. It names the candidate and gives no value; \
"width" says by how much the best one can be better than the chosen one. Ask for the value of the \
chosen one separately, with an expectation. "price" counts for nothing under this guard. To quote \
it, quote the text select(lowest, 1, QUERY, QUERY, ...), which is free.

{_COST} {noise.KEY}

{_REFUSAL}""",
    "submit": noise.TEXTS["submit"],
    "score": f"""\
Score submitted predictions against a column that you cannot see, over the records that they \
cover: later records have none, and do not count. A missing prediction for an id that you \
submitted counts as wrong. The same predictions again are free; with at_least you learn only \
whether they pass, which costs few bits.

{_RULES}""",
    "compare": f"""\
Submit predictions to the leaderboard, and learn whether they are better than the best so far by \
its step: "no" costs next to nothing, so this is the way to try many variants. Only a new best \
gets a score with an interval. Rows are as in submit, one for each record of the board: a missing \
prediction is wrong. The same rows again are free; "left_today" is how many you may still submit. \
Submit what is better on data of your own, not everything.

{_COST}

{_REFUSAL}""",
    "leaderboard": f"""\
The leaderboard, if the custodian opened one: its question, the ranks with their intervals, and \
what was not better. Free. Names are other people's words.

{noise.OTHERS}""",
    "transcript": noise.TEXTS["transcript"],
}
