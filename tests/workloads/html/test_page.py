"""Elements of a page: everything that is shown is escaped, and empty sections are left out."""

from workloads.html import page


def test_texts_are_escaped_and_empty_sections_left_out():
    sections = [page.Section("One", [page.paragraph("<x>")]), page.Section("Two", [])]
    made = page.page("a & b", "good <1>", "good", sections)
    assert "<title>a &amp; b</title>" in made and "good &lt;1&gt;" in made and "<p>&lt;x&gt;</p>" in made
    assert "One" in made and "Two" not in made and "<script" not in made and "http" not in made


def test_tables_lists_and_figures():
    assert page.table(["n"], [[1], ["<"]]).count("<tr>") == 3
    assert page.listing([]) == "" and page.listing(["a"]) == "<ul><li>a</li></ul>"
    assert page.figure("<svg/>", "x < y") == (
        '<figure><div class="wide"><svg/></div><figcaption>x &lt; y</figcaption></figure>'
    )
    assert "<b>fix:</b> do" in page.cause("ID", "is off", [("fix", "do")])
