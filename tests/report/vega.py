"""Makes recovery/report/pages/vega.js.gz: vega-embed with Vega and Vega-Lite as one script, as vl-convert bundles them.

It lies in the repository because making it takes two seconds, and vl-convert 84 MB, for every page.
"""

import gzip
from pathlib import Path

import vl_convert

import recovery.report.pages

PLACE = Path(recovery.report.pages.__file__).with_name("vega.js.gz")


def bundle() -> str:
    """The script."""
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


if __name__ == "__main__":
    PLACE.write_bytes(gzip.compress(bundle().encode(), 9, mtime=0))
