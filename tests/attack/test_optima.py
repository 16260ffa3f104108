"""The attack of `tests.attack.optima` on the proved optimum of training, in small."""

import pytest

from .optima import main

pytestmark = pytest.mark.deep


def test_no_network_is_below_the_proved_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["optima", "21", "6"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
