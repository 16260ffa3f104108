"""Makes recovery/report/page/vega.js.gz: what the page needs of Vega and Vega-Lite as one script, as vl-convert
bundles them.

It lies in the repository because making it takes two seconds, and vl-convert 84 MB, for every page.
"""

import gzip
from pathlib import Path

import vl_convert

import recovery.report.page

PLACE = Path(recovery.report.page.__file__).with_name("vega.js.gz")
SCRIPT = """
import { View, parse } from "/npm/vega@6.2.0/+esm";
import { expressionInterpreter } from "/npm/vega-interpreter@2.0.0/+esm";
import { compile } from "/npm/vega-lite@6.4.1/+esm";
window.vega = { View, parse, expressionInterpreter, compile };
"""
"""The versions are those of the vl-convert that pyproject.toml names."""


def bundle() -> str:
    """The script."""
    return str(vl_convert.javascript_bundle(SCRIPT))


if __name__ == "__main__":
    PLACE.write_bytes(gzip.compress(bundle().encode(), 9, mtime=0))
