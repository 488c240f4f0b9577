"""What the original is asked when its distributions are compared with those of another form: texts of many kinds."""

PROMPTS = (
    "Explain to a child in a few sentences why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
    "Schreibe drei Sätze über einen Herbsttag am Meer.",
    "List five things to check before renting a flat.",
    "A train leaves at 14:35 and arrives at 17:10. How long does the journey take? Show your steps.",
    "Écris un court message pour remercier une collègue de son aide.",
    "Write a polite e-mail that asks to move a meeting from Tuesday to Thursday.",
    "Write an SQL query that counts the orders of each customer in 2024, largest first.",
    "Tell the beginning of a story about a lighthouse keeper who finds a letter.",
    "Explica qué es la fotosíntesis en pocas frases.",
    "Summarize in two sentences: Bees visit flowers to collect nectar. On the way they carry pollen from one flower to "
    "the next, and so many plants can bear fruit. Where there are fewer bees, harvests shrink.",
    "Write a small HTML page with a heading, a paragraph and a list of three links.",
)
