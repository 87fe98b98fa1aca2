"""What a verdict means, in the words that every reviewer reads (key G)."""

QUESTION = "Would the stored answer have been acceptable for what is asked now?"

GUIDELINE = """\
**Judge the stored answer against the new question.** The stored question only tells where the answer comes from.

**1 Reusable.** Whoever asks now is served well by it. Other words, more or less detail are fine.

**2 Not reusable.** It misses, misleads, or was made for somebody else. The next key says why.

**3 Unsure.** You can't tell. It is kept, and counts against the threshold: no need to guess.

The **fresh answer** is what the model said just now. It may differ in words; it may be the worse one.

**Bad answer** (8): wrong for its own question, too. Then the entry is at fault, not the match.

**S** leaves it to others. **U** takes your last verdict back. **F** tells an admin.

Score and other people's verdicts stay hidden until you have answered, on purpose.
"""
