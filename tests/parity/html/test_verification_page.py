"""The page of a comparison: what a reader finds, and where."""

import html
import re

from tests.parity.html.pages import failing_page, passing_page


def headings(page):
    return re.findall(r"<h2>([^<]*)</h2>", page)


def captions(page):
    return [html.unescape(caption) for caption in re.findall(r"<figcaption>([^<]*)</figcaption>", page)]


def test_verdict_and_cause_come_first():
    page = failing_page()
    assert headings(page)[0] == "Causes"
    assert page.index("NO PARITY") < page.index("LOSS_NOT_DIVIDED") < page.index("<svg")
    assert 'class="verdict bad"' in page and "legacy&#x27;s &lt;b&gt;" in page


def test_five_pictures_say_where_a_failed_comparison_differs():
    page = failing_page()
    assert page.count("<svg") == len(captions(page)) == 5
    said = " ".join(captions(page))
    assert "first differ at step 1" in said and "The first that differs is loss." in said
    assert (
        "Tensors of the stage combined gradients that differ most: 2 of 2" in said
        and "the 2 weights that differ most, of 2." in said
    )


def test_identical_bits_need_no_pictures_of_differences():
    page = passing_page()
    assert "Nowhere: 6 tensors have identical bits in each of 4 steps." in page
    assert captions(page)[-1] == "Of 2 changes of the job, one at a time, the comparison would have seen 1."
    assert "Not shown" in headings(page) and 'class="verdict open"' in page


def test_the_page_is_one_file_without_script():
    for page in (failing_page(), passing_page()):
        assert "<script" not in page and not re.search(r'(src|href)="(?!#|data:)', page)
        assert not re.search(r"url\((?!#)", page) and len(page) < 2_000_000
