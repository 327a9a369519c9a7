"""An HTML page without script, fonts or files beside it: a verdict, and sections of text, tables and pictures."""

from __future__ import annotations

import dataclasses
import html
import pathlib
from collections.abc import Sequence

#: Colours for light and dark, pictures and tables that scroll by themselves on a narrow screen.
STYLE = (pathlib.Path(__file__).parent / "style.css").read_text(encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
      heading: its title.
      blocks: elements of HTML, from the functions below.
    """

    heading: str
    blocks: Sequence[str]


def page(title: str, verdict: str, mood: str, sections: Sequence[Section]) -> str:
    """Returns a whole page.

    Args:
      title: of the page.
      verdict: the answer, in one sentence that begins with it.
      mood: "good", "bad" or "open", for the colour beside the verdict.
      sections: in order; those without blocks are left out.

    Returns:
      the HTML document.
    """
    body = [f"<h1>{html.escape(title)}</h1>", f'<p class="verdict {mood}">{html.escape(verdict)}</p>']
    for section in sections:
        if section.blocks:
            body += ["<section>", f"<h2>{html.escape(section.heading)}</h2>", *section.blocks, "</section>"]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
    )
    main = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body><main>\n{main}\n</main></body></html>\n'


def paragraph(text: str) -> str:
    """Returns text as a paragraph."""
    return f"<p>{html.escape(text)}</p>"


def listing(lines: Sequence[str]) -> str:
    """Returns lines as a list; nothing for none."""
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def figure(svg: str, caption: str) -> str:
    """Returns a picture with the sentence below it that says what it shows."""
    return f'<figure><div class="wide">{svg}</div><figcaption>{html.escape(caption)}</figcaption></figure>'


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a table of texts and numbers."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cause(name: str, sentence: str, details: Sequence[tuple[str, str]]) -> str:
    """Returns a cause in a frame.

    Args:
      name: its id.
      sentence: what is wrong.
      details: (label, text) such as the fix.

    Returns:
      the element.
    """
    rest = "".join(f"<p><b>{html.escape(label)}:</b> {html.escape(text)}</p>" for label, text in details)
    return f'<div class="cause"><p><b>{html.escape(name)}</b></p><p>{html.escape(sentence)}</p>{rest}</div>'
