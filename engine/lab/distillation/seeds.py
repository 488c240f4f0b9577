"""How invented conversations begin: the first words of a user's turn, by kind, and system prompts.

A seed ends where the target has to say something of its own, so that hardly two turns go on alike.
"""

from __future__ import annotations

from types import MappingProxyType

# Kind, its share of the conversations, and its seeds.
_KINDS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    (
        "chat",
        0.26,
        (
            "What is",
            "What are the differences between",
            "Why do people",
            "Why is it that",
            "How do I",
            "How does",
            "Can you tell me",
            "Could you help me with",
            "I have been thinking about",
            "I'm planning a",
            "I feel",
            "Is it true that",
            "Should I",
            "Who was",
            "When did",
            "Where can I find",
            "Do you know",
            "My friend",
            "What would happen if",
            "Give me some advice on",
        ),
    ),
    (
        "code",
        0.16,
        (
            "Write a Python function that",
            "Write a short Python script to",
            "Write a JavaScript function that",
            "Write an SQL query that",
            "Write a shell command that",
            "Write a C function that",
            "Implement a class in Python that",
            "What does this Python code do?\n\n```python\ndef",
            "Fix the mistake in this code:\n\n```python\n",
            "Write unit tests for a function that",
            "Write a regular expression that matches",
            "How do I use Python to",
            "Write an HTML page with",
            "In Java, how can I",
        ),
    ),
    (
        "maths",
        0.12,
        (
            "Solve for x:",
            "A train",
            "A farmer has",
            "Calculate the",
            "What is the sum of",
            "If a shop sells",
            "Anna has",
            "How many ways are there to",
            "Find the area of",
            "What is the probability that",
            "Simplify the expression",
            "Explain step by step how to solve",
            "There are",
            "A recipe calls for",
        ),
    ),
    (
        "lists",
        0.13,
        (
            "List",
            "List five",
            "Give me ten ideas for",
            "Name three",
            "What are the main steps to",
            "Make a shopping list for",
            "Write a checklist for",
            "Give me the pros and cons of",
            "Make a table that compares",
            "Suggest some names for",
            "What are the most important",
            "Make a weekly plan for",
        ),
    ),
    (
        "translation",
        0.08,
        (
            "Translate the following sentence into French:",
            "Translate the following sentence into Spanish:",
            "Translate the following sentence into German:",
            "Translate into Italian:",
            "How do you say in French:",
            "How would a native speaker say in Spanish:",
            "Translate this message into English: Bonjour,",
            "Translate this into English: Ich",
            "What does this Spanish sentence mean: El",
            "Explain the meaning of the word",
        ),
    ),
    (
        "rewriting",
        0.1,
        (
            "Rewrite the following sentence to be more formal:",
            "Make this e-mail more polite:\n\nHi",
            "Correct the grammar of this sentence:",
            "Summarise the following text in one sentence:\n\nThe",
            "Summarise the following text:\n\nIn recent years,",
            "Rewrite this paragraph in simpler words:\n\n",
            "Turn these notes into a paragraph:\n\n-",
            "Classify the following review as positive or negative:",
            "What is the main idea of this passage?\n\nMany",
            "Extract the names and dates from this text:\n\nOn",
            "Edit the following sentence so that it is shorter:",
            "Write a headline for this story:\n\nA",
        ),
    ),
    (
        "long",
        0.15,
        (
            "Write a short story about",
            "Write an essay about",
            "Write a letter to",
            "Write an e-mail to",
            "Write a poem about",
            "Write a blog post about",
            "Write a speech for",
            "Explain in detail how",
            "Explain the history of",
            "Describe a day in the life of",
            "Write a dialogue between",
            "Write a product description for",
            "Give a detailed recipe for",
            "Write a report on",
        ),
    ),
)
SHARES = MappingProxyType({kind: share for kind, share, _ in _KINDS})
SEEDS = MappingProxyType({kind: seeds for kind, _, seeds in _KINDS})
ONE_PARAGRAPH = frozenset({"chat", "maths", "lists", "translation"})  # what a target adds there is not the request

SYSTEM_PROMPTS = (
    "You are a helpful assistant.",
    "You are a friendly assistant. Answer briefly.",
    "You are an expert who explains things step by step.",
    "You are a patient teacher. Use simple words.",
    "You are an experienced programmer. Prefer short, working code.",
    "You are a careful editor. Give only the finished text.",
    "You are a creative writer with a vivid style.",
    "Answer in clear paragraphs, and say so when you are not sure.",
)
NO_SYSTEM_PROMPT_SHARE = 0.5
