"""`python -m tests.legacy.write_gallery`: write the pages and sources of `docs/gallery` anew."""

from workloads.support.machine import environment


def main() -> None:
    """Writes the gallery, with TensorFlow set up as `legacy.lift --source` sets it up."""
    environment.prepare(exact=True)
    from tests.legacy import gallery

    gallery.write_all()


if __name__ == "__main__":
    main()
