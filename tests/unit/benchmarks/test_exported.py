from __future__ import annotations

import pytest

from tests.benchmarks.exported import accepted_share, error_of, print_result


def test_shares_are_those_of_all_replies_together(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = [(1, 4), (39, 96)], [(3, 4), (38, 96)]
    assert accepted_share(ours) == 0.4
    print_result(ours, theirs)
    assert "apart +2.5%" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        print_result(ours, [(3, 4), (30, 96)])


def test_replies_that_all_agree_leave_no_error() -> None:
    assert error_of([(1, 4)] * 9, [(2, 4)] * 9) == pytest.approx(0)
    assert error_of([(1, 4), (3, 4)] * 9, [(3, 4), (3, 4)] * 9) > 0.01
