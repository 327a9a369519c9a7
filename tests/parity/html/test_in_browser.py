"""The page in a real browser, in light and dark and on a narrow screen: no message in its console, all is drawn."""

import re
import shutil
import subprocess

import pytest

from tests.parity.html.pages import failing_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr", *QUIET)

#: Writes into the page's title what the browser made of it.
PROBE = """<script>
const pictures = [...document.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect());
const drawn = pictures.filter(box => box.width > 200 && box.height > 50 && box.right <= innerWidth + 1).length;
const paper = getComputedStyle(document.body).backgroundColor;
document.title = [drawn, document.documentElement.scrollWidth <= innerWidth + 1, paper].join("|");
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
    assert re.search(r"<title>([^<]*)</title>", process.stdout).group(1) == f"5|true|{paper}"
    assert "CONSOLE" not in process.stderr
