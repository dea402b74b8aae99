"""Three machines in small: PostgreSQL is killed once under bids, and nothing that was acknowledged is lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.failover import cluster, table
from tests.failover.__main__ import found_by, main, shares
from tests.failover.inside import SPACES
from tests.failover.trial import TrialOutcome
from tests.faults.judging import BidCounts
from tests.needs import missing, need

ROOT = Path(__file__).parents[2]


def test_a_killed_postgresql_loses_no_bid() -> None:
    """Every acknowledged bid is in the ledger of the new primary, and streams, MQTT, receipts and closings agree with it."""
    if os.geteuid() != 0:
        missing("root", "only root can make network namespaces")
    cluster.check_needs()
    trying = subprocess.run([*SPACES, "true"], capture_output=True, text=True, check=False)
    if trying.returncode:
        missing("network namespaces", trying.stderr.strip())
    command = [need("nice"), "-n", "5", sys.executable, "-m", "tests.failover", "--only", table.SHORT.name]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == told.returncode, f"{told.stdout}\n{told.stderr}"
    assert "faults found: 0" in told.stdout


def test_each_file_of_the_recipe_is_run() -> None:
    """The trials take the files of the recipe as they are, with the three addresses that stand in them."""
    files = {file.name: file.read_text() for file in cluster.RECIPE.iterdir()}
    assert {
        "etcd.env",
        "patroni.yml",
        "haproxy.cfg",
        "saleroom.toml",
        "mosquitto-core.conf",
        "mosquitto-edge.conf",
    } <= {*files}
    for name, text in files.items():
        addresses = set(re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text)) - {"127.0.0.1"}
        assert addresses <= {*cluster.ADDRESSES.values()}, name


def test_a_trial_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong name ends with code 2 and the names that there are."""
    with pytest.raises(SystemExit) as end:
        main(["--only", "no such trial"])
    assert 2 == end.value.code
    assert table.SHORT.name in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "jobs", "expected"),
    [(1, 3, [1]), (12, 3, [4] * 3), (13, 2, [7, 6]), (300, 3, [25] * 12), (30, 1, [15] * 2)],
)
def test_clusters_share_the_breaks(count: int, jobs: int, expected: list[int]) -> None:
    """Each of those side by side gets about as many, and none so many that its trial does not end."""
    assert expected == shares(count, jobs)


def test_a_control_must_lose_bids() -> None:
    """A lost bid is a fault of every trial but of the control, where it is one if no bid is lost."""
    control, other = (next(one for one in table.ALL if one.control is wanted) for wanted in (True, False))
    whole, short = (TrialOutcome(BidCounts(5, lost, 0)) for lost in (0, 1))
    found = [bool(found_by(trial, outcome)) for trial in (control, other) for outcome in (whole, short)]
    assert [True, False, False, True] == found
