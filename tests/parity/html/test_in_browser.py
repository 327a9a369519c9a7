"""The page in a real browser, light and dark, on a narrow screen: no console message, all is drawn and legible."""

import re
import shutil
import subprocess

import pytest

from tests.parity.html.pages import failing_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr", *QUIET)

#: Least size of a picture's text, in CSS pixels.
LEGIBLE = 9

#: Writes into the page's title what the browser made of it.
PROBE = """<script>
const pictures = [...document.querySelectorAll("figure svg")].filter(svg => {
  const box = svg.getBoundingClientRect(), frame = svg.parentElement.getBoundingClientRect();
  return box.width > 200 && box.height > 50 && frame.right <= innerWidth + 1;
});
const sizes = pictures.flatMap(svg => [...svg.querySelectorAll("text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width));
const paper = getComputedStyle(document.body).backgroundColor;
const fits = document.documentElement.scrollWidth <= innerWidth + 1;
document.title = [pictures.length, fits, paper, Math.min(...sizes)].join("|");
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome in the path")


@pytest.mark.parametrize(
    "flags, paper",
    [
        (["--window-size=1000,1400"], "rgb(255, 255, 255)"),
        (["--window-size=500,900", "--force-dark-mode"], "rgb(21, 23, 26)"),
    ],
)
def test_a_browser_draws_it(flags, paper, tmp_path):
    (tmp_path / "report.html").write_text(failing_page().replace("</body>", PROBE + "</body>"), encoding="utf-8")
    command = [BROWSER, *FLAGS, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    process = subprocess.run(
        [*command, f"file://{tmp_path / 'report.html'}"], capture_output=True, text=True, timeout=300
    )
    seen = re.search(r"<title>([^<]*)</title>", process.stdout).group(1).split("|")
    assert seen[:3] == ["5", "true", paper] and float(seen[3]) >= LEGIBLE
    assert "CONSOLE" not in process.stderr
