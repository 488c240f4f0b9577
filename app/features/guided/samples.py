"""Prompts of the kind that speed-up is for: a text that stands there already is to be written again, with a change."""

from __future__ import annotations

from dataclasses import dataclass

from app.text.translation import QT_TRANSLATE_NOOP


@dataclass(frozen=True, slots=True)
class SamplePrompt:
    name: str
    prompt: str


# These prompts stay English in all languages: the starter model knows no other.
_LETTER = """\
Correct the spelling and write the whole letter again:

Dear Mrs Hall,

thank you for your letter of the third of May. We have recieved the samples of the garden furniture, and our customers \
like the table and the four chairs very much. We would like to order twenty tables and eighty chairs for our shop in \
Leeds. Please send them by the end of June, since the season begins in July. The invoice can go to our office in York, \
as always.

With kind regards,
Robin Miller"""
_FILE = """\
Change the port to 9090 and write the whole file again:

```json
{
  "name": "garden-shop",
  "version": "1.4.2",
  "server": {
    "host": "0.0.0.0",
    "port": 8080,
    "workers": 4
  },
  "database": {
    "host": "db.example.org",
    "name": "orders",
    "user": "shop",
    "timeout": 30
  },
  "mail": {
    "host": "mail.example.org",
    "sender": "orders@example.org"
  }
}
```"""
SAMPLES = (
    SamplePrompt(QT_TRANSLATE_NOOP("Guided", "A letter to correct"), _LETTER),
    SamplePrompt(QT_TRANSLATE_NOOP("Guided", "Code to change"), _FILE),
)
# What precedes the user's own text.
OWN = SamplePrompt(
    QT_TRANSLATE_NOOP("Guided", "A text of your own"),
    QT_TRANSLATE_NOOP("Guided", "Correct the spelling and write the whole text again:"),
)
