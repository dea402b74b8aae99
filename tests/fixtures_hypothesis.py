"""How many examples hypothesis tries: by the profile `ci`, or the one that HYPOTHESIS_PROFILE names.

`ci` takes the same examples every time, so that a run says something about the change and not about its luck; `long`
looks for new ones. `fuzz` does too, by the seed that it is given. `short` is for `make quick` and for `make mutation`,
which only asks whether a test fails.
"""

import os

from hypothesis import HealthCheck, Phase, settings

from tests.fixtures_database import KINDS

_LENIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]  # the machine that runs them may be busy
settings.register_profile(
    "ci",
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_LENIENT,
)
settings.register_profile(
    "long", max_examples=5_000, stateful_step_count=100, deadline=None, suppress_health_check=_LENIENT
)
settings.register_profile(
    "fuzz",
    max_examples=300,
    stateful_step_count=50,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=_LENIENT,
)
settings.register_profile(
    "short",
    settings.get_profile("ci"),
    max_examples=15,
    stateful_step_count=15,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

MANY = settings.get_current_profile_name() in ("long", "fuzz")
FUZZED = KINDS if MANY else ("postgresql",)
"""The databases of a house that is fuzzed. PostgreSQL refuses more values than SQLite, such as a zero byte in a text."""


def on_a_database(examples: int) -> settings:
    """Settings of examples that share their test's database: this number in `ci`, ten times as many in `long` and `fuzz`."""
    return settings(
        max_examples=examples * 10 if MANY else examples,
        suppress_health_check=[*_LENIENT, HealthCheck.function_scoped_fixture],
    )
