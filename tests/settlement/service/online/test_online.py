"""A house without cards online never loads their library."""

import subprocess
import sys
from pathlib import Path


def test_a_house_without_a_key_never_loads_the_library(tmp_path: Path) -> None:
    """The whole application is there, and Stripe's library is not."""
    code = (
        "import sys; from saleroom.compose import application; from saleroom.settings import Settings;"
        f"application(Settings(database='sqlite:///{tmp_path}/a.db', mqtt='off'));"
        "print('stripe' in sys.modules, 'saleroom.settlement.service.online.online_looking' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False True" == done.stdout.strip().splitlines()[-1]
