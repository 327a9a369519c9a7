"""Reports to look at and to send: one HTML file each, with pictures, that needs no network and no script.

matplotlib draws the pictures as SVG inside the page: text stays text, sharp at any size, read aloud by screen readers,
and takes the page's colour in light and dark.
"""
