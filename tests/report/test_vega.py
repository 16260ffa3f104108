"""The library that a page carries is the one that vl-convert makes."""

import gzip

from .vega import PLACE, bundle


def test_the_library_of_the_page_is_that_of_vl_convert() -> None:
    assert gzip.decompress(PLACE.read_bytes()).decode() == bundle(), "run `make vega`"
