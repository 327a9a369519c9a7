"""Questions that the write-ups leave open, each as a plan of runs, what is measured of them, and what it says."""
