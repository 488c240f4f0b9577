"""Which passages go along where a document does not fit."""

from __future__ import annotations

from engine.backend.documents import nearest_passages
from engine.values.passages import by_document, num_pages, pages, passages_of, with_pages
from engine.values.prompts import Attachment, join_prompt, split_prompt

FILLER = "Nothing is told here but of ropes, knots, tides and other things of the sea. " * 10
TEXTS = [FILLER] * 40
TEXTS[6] = FILLER + "The harbour master keeps three geese. " + FILLER
TEXTS[30] = "Geese are fed at seven by the harbour master."
BOOK = Attachment("Book.pdf", with_pages(TEXTS))


def names(found: tuple[Attachment, ...]) -> list[str]:
    return [each.name for each in found]


def test_the_nearest_passages_fill_the_room_in_the_order_of_the_document() -> None:
    question = "How many goose or geese has the harbour master?"
    found = nearest_passages([BOOK], question, 1_500, len)
    assert names(found) == ["Book.pdf, page 7", "Book.pdf, page 31"]
    assert "three geese" in found[0].text
    assert sum(len(each.block) for each in found) <= 1_500
    assert found == nearest_passages([BOOK], question, 1_500, len)
    assert names(nearest_passages([BOOK], "harbor? xyz", 1_000, len))[0] == "Book.pdf, page 1", "nothing in common"


def test_short_files_go_along_whole_and_lines_are_told_where_there_are_no_pages() -> None:
    code = Attachment("long.py", "\n".join(f"def number_{number}(): ..." for number in range(500)))
    table = Attachment("t.csv", "| name | price |\n|---|---|\n" + "".join(f"| item{n} | {n} |\n" for n in range(300)))
    short = Attachment("error.log", "boom")
    found = nearest_passages([code, short, table], "What of number 321, item299 and boom?", 3_000, len)
    assert short in found
    lines = [each for each in found if each.name.startswith("long.py, line ")]
    first = int(lines[0].name.rsplit(" ", 1)[1])
    assert lines[0].text.startswith(f"def number_{first - 1}()")
    (rows,) = [each for each in found if each.name.startswith("t.csv, line ") and "item299" in each.text]
    assert rows.text.startswith("| name | price |\n|---|---|\n"), "a part of a table has its head"


def test_words_without_blanks_between_them_are_found() -> None:
    book = Attachment("本.txt", "\n".join([f"縄と潮の話。{FILLER}"] * 5 + ["港の灯台守は鷺に餌をやる。" + FILLER]))
    (found, *_) = nearest_passages([book], "灯台守は何に餌を", 1_200, len)
    assert "灯台守" in found.text


def test_passages_come_back_from_a_prompt_and_stand_together_in_it() -> None:
    found = nearest_passages([BOOK], "harbour geese", 1_500, len)
    (attached, words) = split_prompt(join_prompt([*found, Attachment("a.txt", "x")], "Which?"))
    attachments = [each for each in attached if isinstance(each, Attachment)]
    assert (passages_of(attachments), words) == (found, "Which?")
    (book, parts), (whole, none) = by_document(attachments)
    assert (book.name, parts, whole.name, none) == ("Book.pdf", 2, "a.txt", 0)
    assert "[Page 31]\nGeese" in book.text


def test_pages_are_found_in_their_text_and_nobody_forges_them() -> None:
    text = with_pages(["one", "[Page 9]\ntwo", ""])
    assert num_pages(text) == 3
    assert [number for number, _ in pages(text)] == [1, 2, 3]
    assert num_pages("said [Page 3]\n[Page 1]") == 0
