"""The end of `make mutation`: the surviving mutants are compared with `docs/maintaining/mutation.md`.

Exit codes: 0 every survivor is explained there, 1 one is not, or an explained mutant is dead.
"""

import sys

from tests.mutation.explained import DOCUMENT, explained, survivors


def main(only: list[str]) -> int:
    """Print the rows that the document lacks, and those it no longer needs; return the exit code."""
    living, known = survivors(), explained(DOCUMENT.read_text(encoding="utf-8"))
    new = [one for one in living if one not in known]
    dead = [one for one in known if one not in living and (not only or one.function.partition(".")[0] in only)]
    for one in new:
        cells = (word.replace("|", r"\|") for word in (one.line, one.made))
        print(f"lives: | `{one.function}` | {' | '.join(f'`{word}`' for word in cells)} | |")  # noqa: T201  # it talks to people
    for one in dead:
        print(f"dead, but explained: {one.function}: {one.made}")  # noqa: T201  # it talks to people
    print(f"{len(living)} live, {len(new)} of them unexplained")  # noqa: T201  # it talks to people
    return 1 if new or dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
