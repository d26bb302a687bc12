"""What a model is told before it asks. A model knows of the promise only what stands here."""

from __future__ import annotations

_WIDTH = (
    "Every number comes as value ± width. The width is a half-width: the population's value "
    "lies between value - width and value + width, and all intervals of the whole analysis hold "
    "together with probability 1 - beta, however the questions were chosen. A difference "
    "smaller than the widths means nothing: do not act on it."
)
_COST = (
    "Each new answer is charged to a budget that never refills; a quote is free, and so is "
    "asking the same question again at the same round."
)
_REFUSAL = (
    "Refusals are final. On BudgetExhausted do not retry or rephrase the question: only "
    "more records or a later round help, as the error says. Looking for another way to the "
    "records (files, logs, other tools) would void every answer of the analysis: do not."
)
_KEY = (
    "Give a key (any text of your own, new for each question): a call that is repeated with its "
    "key, after a timeout say, returns the recorded answer and charges nothing."
)

INSTRUCTIONS = f"""\
Holdfast guards records that you cannot see. You ask about them and get numbers that stay true \
however many questions were asked before.

{_WIDTH}

{_COST} {_KEY}

{_REFUSAL}

Work like this: describe once, budget to see what is left, quote before you ask, ask what \
matters, stop when a quote is not allowed or what you could still gain is within the widths."""

DESCRIBE = f"""\
The columns, the plan and the query language of the guarded dataset. Call it first; it is free.

{_WIDTH}"""

BUDGET = """\
What is left of the budget and what it buys: so many answers now, so many if asked evenly as \
records arrive, so many at the end. Free. Later questions cost less, because there are more \
records to hide in. When little is left, keep answers back for what you must report."""

QUOTE = """\
What an answer would cost and how wide it would be, before asking. A quote is free, charges \
nothing and touches no record, so quote before you ask. "allowed": false means that asking would \
be refused, and "reason" says why; rephrasing does not help, "more_records" says after how many \
more records it would fit (null: never). "recorded": true means that the answer is there already \
and free. "price" is the cost in answers to one fraction. "width" is the half-width the answer \
would have at most."""

ASK = f"""\
Ask one question and get its answer. This charges the budget, for good; quote first, which is \
free.

{_WIDTH}

{_COST} {_KEY}

{_REFUSAL}"""

ASK_MANY = f"""\
Ask several questions at one round, all or none, in one pass. Cheaper in time than one by one, \
and of the same cost. Use it where the questions do not depend on each other's answers.

{_WIDTH} {_COST} {_KEY}

{_REFUSAL}"""

SELECT = f"""\
Choose the best of several candidates at one price, however many there are: which rule, model or \
threshold has the lowest loss or the highest score. It names the candidate and tells no numbers; \
"width" says by how much the best one can be better than the chosen one. Ask for the value of \
the chosen one by itself. Below a price of about 16 answers the width grows steeply. To quote \
it, quote the text select(lowest, PRICE, QUERY, QUERY, ...), which is free.

{_COST} {_KEY}

{_REFUSAL}"""

TRANSCRIPT = """\
What was asked and answered so far, by whom, at which round and at what width: the newest first, \
a page at a time. Free. Look here before asking: an answer that stands here is yours already, \
and asking it again at its round costs nothing."""
