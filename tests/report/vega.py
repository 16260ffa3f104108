"""Make recovery/report/page/vega.js.gz: Vega and Vega-Lite as one script, bundled by vl-convert.

The file is in the repository because making it takes 2 s and needs vl-convert, which has 84 MB.
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
"""These are the versions in the vl-convert that pyproject.toml requires."""


def bundle() -> str:
    """Return the script."""
    return str(vl_convert.javascript_bundle(SCRIPT))


if __name__ == "__main__":
    PLACE.write_bytes(gzip.compress(bundle().encode(), 9, mtime=0))
