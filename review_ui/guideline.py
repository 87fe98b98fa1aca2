"""What a verdict means, in the words that every reviewer reads (key G)."""

QUESTION = "Would the stored answer have been acceptable for what is asked now?"

GUIDELINE = """\
**Judge the stored answer against the new question.** The old question only explains where the answer comes from;
two questions may look alike and need other answers, or look different and need the same one.

**1 · Reusable.** Somebody who asks the new question is served well by the stored answer. Other words, more or less
detail are fine.

**2 · Not reusable.** It misses, misleads, or was made for somebody else. The next key says why.

**3 · Unsure.** You can't tell. It is kept and counted against the threshold, so never guess to get on.

*Fresh answer*: what the model said to the new question just now. It may differ in words. It may also be the worse one.

*Stored answer bad in itself* (reason 8): wrong for its own question, too. Then the entry is at fault, not the match.

**S** leaves the item to others · **U** takes your last verdict back · **F** hands it on with a note.
Score, sampling and other people's verdicts are hidden until you have answered, on purpose.
"""
