"""Builds the package for Debian: the program with all its Python packages, its service, settings and maintainer scripts.

`make deb` calls it. The Python packages are those of requirements/s3.txt, checked by their hashes, as wheels for one version
of Python: Debian 12 has 3.11, Debian 13 has 3.13. Needs dpkg-deb, and the virtual environment that `make setup` makes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "deploy" / "debian"
PACKAGES = ROOT / "requirements" / "s3.txt"
"""What the house runs on, and what photos in a store need."""
HOME = "usr/lib/saleroom"
PLATFORMS = {"amd64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
"""Architecture of Debian -> platform of wheels."""
MAINTAINER_SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
_LAUNCHER = """\
#!/{home}/bin/python
import sys

from saleroom.__main__ import main

sys.exit(main())
"""
_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: saleroom

Files: *
Copyright: 2026 the authors of saleroom
License: Apache-2.0
 On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0.
Comment: The Python packages below /{home}/lib have their own licences, which are in the folder *.dist-info of each. The
 licences of the front-end files and fonts are beside them.
"""
_CHANGELOG = """\
saleroom ({version}) unstable; urgency=medium

  * /usr/share/doc/saleroom/CHANGELOG.md says what has changed.

 -- The maintainers of saleroom <saleroom@localhost>  {date}
"""


def build(python: str, version: str, folder: Path, *, quickly: bool = False) -> Path:
    """Build the package of `version` for this Python into `folder`, and return its file.

    `quickly` packs it badly, which is much faster. Raises CalledProcessError if a program fails.
    """
    architecture = _said("dpkg", "--print-architecture")
    folder.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="saleroom-deb-") as scratch:
        root = Path(scratch) / "root"
        _program(root, python, PLATFORMS[architecture])
        _around(root, version)
        size = sum(file.lstat().st_size for file in root.rglob("*")) // 1024
        facts = {"VERSION": version, "ARCHITECTURE": architecture, "SIZE": str(size), "PYTHON": f"python{python}"}
        _control(root / "DEBIAN", facts)
        made = folder / f"saleroom_{version}_{architecture}_python{python}.deb"
        packing = ("-Zgzip", "-z1") if quickly else ("-Zxz", "-z4")
        _run("dpkg-deb", "--root-owner-group", *packing, "--build", str(root), str(made))
    return made


def _program(root: Path, python: str, platform: str) -> None:
    """Make the virtual environment by hand, so that it works at its place in the package, for a Python that is not here."""
    home = root / HOME
    packages = home / "lib" / f"python{python}" / "site-packages"
    packages.mkdir(parents=True)
    (home / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python}\n")
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(f"/usr/bin/python{python}")
    (home / "bin" / "python3").symlink_to("python")
    _write(home / "bin" / "saleroom", _LAUNCHER.format(home=HOME), 0o755)
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--link-mode", "copy"]
    into = [*uv, "--target", str(packages), "--python-version", python, "--python-platform", platform]
    _run(*into, "--only-binary", ":all:", "--require-hashes", "-r", str(PACKAGES))
    _run(*into, "--python", sys.executable, "--no-deps", "--no-build-isolation", str(ROOT))
    shutil.rmtree(packages / "bin")  # programs of the packages, with the path of this scratch folder in them
    for lock in (packages / ".lock", *packages.rglob("direct_url.json")):
        lock.unlink(missing_ok=True)
    for file in packages.rglob("*"):
        if file.is_file():
            file.chmod(0o644)  # imported, never run, whatever their authors gave them


def _around(root: Path, version: str) -> None:
    """Add what is not Python: the service, the command for people, settings, documents."""
    for unit in ("saleroom.service", "saleroom-edge@.service"):
        _copy(ROOT / "deploy" / "systemd" / unit, root / "usr/lib/systemd/system" / unit)
    _copy(SOURCES / "saleroom", root / "usr/bin/saleroom", 0o755)
    _copy(SOURCES / "saleroom.toml", root / "etc/saleroom/saleroom.toml", 0o640)
    (root / "etc/saleroom/secrets").mkdir(mode=0o750)
    documents = root / "usr/share/doc/saleroom"
    for file in (ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")):
        _copy(file, documents / file.name)
    _write(documents / "copyright", _COPYRIGHT.format(home=HOME))
    text = _CHANGELOG.format(version=version, date=format_datetime(datetime.now(UTC)))
    (documents / "changelog.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    _copy(SOURCES / "lintian-overrides", root / "usr/share/lintian/overrides/saleroom")


def _control(folder: Path, facts: Mapping[str, str]) -> None:
    """Write the control files, with `facts` in the place of their names between @."""
    for name in ("control", "templates", *MAINTAINER_SCRIPTS):
        text = (SOURCES / name).read_text(encoding="utf-8")
        for fact, value in facts.items():
            text = text.replace(f"@{fact}@", value)
        _write(folder / name, text, 0o755 if name in MAINTAINER_SCRIPTS else 0o644)
    _write(folder / "conffiles", "/etc/saleroom/saleroom.toml\n")


def _write(file: Path, text: str, mode: int = 0o644) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)


def _copy(source: Path, target: Path, mode: int = 0o644) -> None:
    _write(target, source.read_text(encoding="utf-8"), mode)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Read the command line, and build."""
    from saleroom import __version__

    parser = argparse.ArgumentParser(description="Builds the package for Debian.")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument(
        "--python", default=here, help="version of Python on the machine of the house; that of this one"
    )
    parser.add_argument("--version", default=__version__, help="version of the package; that of the program")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="folder for the package; dist")
    parser.add_argument("--quickly", action="store_true", help="pack it badly, for a trial")
    asked = parser.parse_args()
    sys.stdout.write(f"{build(asked.python, asked.version, asked.into, quickly=asked.quickly)}\n")


if __name__ == "__main__":
    main()
