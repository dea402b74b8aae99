"""The recipes of deploy/ say what they promise: confined services, hashed packages, settings that the house has.

`make install-trial` installs the package for Debian on a machine of its own; this is what takes seconds.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from saleroom.settings import SECRETS_VARIABLE, load
from scripts import deb
from tests.fixtures_house import House
from tests.litestream import LITESTREAM
from tests.needs import need
from tests.test_docs import check_command, code, parse_line

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = {
    DEPLOY / "systemd" / "saleroom.service": "installing.md",
    DEPLOY / "systemd" / "saleroom-edge@.service": "edge.md",
    DEPLOY / "litestream" / "saleroom-litestream.service": "backup.md",
}
"""The units, and the documents that name how exposed they are."""
CONTAINERFILE = (DEPLOY / "container" / "Containerfile").read_text()
GUIDE = ROOT / "docs" / "installing.md"
COMPOSE = ("container/compose.yaml", "container/compose.internet.yaml", "three-nodes/compose.yaml")
ELSEWHERE = ("apt", "systemctl", "docker", "kubectl", "mkdir", "(umask", "chown", "make")
"""Programs in docs/installing.md beside saleroom's own."""
DEBIAN = DEPLOY / "debian"
PLACES = {"@VERSION@": "1.2.3"}


def checked(*command: str, typed: str | None = None) -> str:
    """Run a program that must succeed, and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=typed)
    assert 0 == done.returncode, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_as_confined_as_its_document_says(unit: Path) -> None:
    """systemd-analyze gives the exposure that the document names, and no better one stands there."""
    program = need("systemd-analyze")
    told = checked(program, "security", "--offline=true", "--no-pager", str(unit))
    [exposure] = re.findall(r"Overall exposure level for saleroom.*\.service: ([0-9.]+)", told)
    assert f"exposure of {exposure}" in (ROOT / "docs" / UNITS[unit]).read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_has_no_unknown_line(unit: Path, tmp_path: Path) -> None:
    """systemd-analyze finds nothing wrong with a unit but the program, which is not installed here."""
    program = need("systemd-analyze")
    copy = tmp_path / unit.name.replace("@", "@9100")
    copy.write_text(re.sub("/usr/[a-z/]*bin/(saleroom|litestream)", "/bin/true", unit.read_text()))
    done = subprocess.run([program, "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False)
    assert "" == "".join(line for line in done.stderr.splitlines() if copy.name in line)


@pytest.mark.parametrize("script", ["saleroom", "preinst", "postinst", "prerm", "postrm"])
def test_the_scripts_of_the_package_can_be_read(script: str) -> None:
    """Each script of the package is one for /bin/sh that stops at a failure."""
    text = (DEBIAN / script).read_text()
    assert text.startswith("#!/bin/sh\n")
    assert re.search("^set -eu?$", text, re.MULTILINE)
    checked("sh", "-n", str(DEBIAN / script))


def script_with(tmp_path: Path, name: str, folders: dict[str, Path]) -> Path:
    """Return a copy of a script of the package that has other folders."""
    text = (DEBIAN / name).read_text()
    for place, value in PLACES.items():
        text = text.replace(place, value)
    for place, folder in folders.items():
        assert place in text
        text = text.replace(place, str(folder))
    copy = tmp_path / name
    copy.write_text(text)
    return copy


@pytest.mark.parametrize(("code", "goes_on"), [(0, True), (2, True), (1, False), (130, False)])
def test_there_is_no_upgrade_without_a_copy_of_the_database(code: int, goes_on: bool, tmp_path: Path) -> None:
    """An upgrade stops if the copy fails, and goes on with PostgreSQL (exit code 2), which is copied by other means."""
    house, program = tmp_path / "lib", tmp_path / "saleroom"
    house.mkdir()
    (house / "saleroom.db").touch()
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nexit {code}\n')
    program.chmod(0o755)
    folders = {"/var/lib/saleroom": house, "/usr/bin/saleroom": program, "/var/backups/saleroom": tmp_path}
    script = script_with(tmp_path, "preinst", folders)
    done = subprocess.run(["sh", str(script), "upgrade", "1.2.2"], capture_output=True, text=True, check=False)
    assert goes_on == (done.returncode == 0), done.stderr
    assert f"backup --force {tmp_path}/before-1.2.3.db\n" == (tmp_path / "asked").read_text()
    assert "saleroom: " in done.stderr


@pytest.mark.parametrize(("answer", "stays"), [("false", True), ("", True), ("true", False)])
def test_a_purge_removes_data_only_after_a_yes(answer: str, stays: bool, tmp_path: Path) -> None:
    """Without an answer, as where nobody can be asked, the data stay."""
    (tmp_path / "lib" / "photos").mkdir(parents=True)
    (tmp_path / "backups").mkdir()
    (tmp_path / "etc" / "secrets").mkdir(parents=True)
    module = tmp_path / "confmodule"
    module.write_text(
        f'db_fset() {{ :; }}\ndb_input() {{ :; }}\ndb_go() {{ :; }}\ndb_purge() {{ :; }}\ndb_get() {{ RET="{answer}"; }}\n'
    )
    folders = {
        "/var/lib/saleroom": tmp_path / "lib",
        "/var/backups/saleroom": tmp_path / "backups",
        "/etc/saleroom": tmp_path / "etc",
        "/usr/share/debconf/confmodule": module,
        "/usr/bin/deb-systemd-helper": tmp_path / "none",
        "/run/systemd/system": tmp_path / "none",
    }
    script = script_with(tmp_path, "postrm", folders)
    checked("sh", str(script), "remove")
    assert (tmp_path / "lib").exists()
    checked("sh", str(script), "purge")
    assert [stays, stays, False] == [(tmp_path / name).exists() for name in ("lib", "backups", "etc")]


def test_the_image_is_built_of_hashed_packages_from_no_named_index() -> None:
    """Every installation names its hashes or no index at all, and nothing in the recipes names a registry of packages."""
    installs = re.findall(r"pip install (.*(?:\\\n.*)?)", CONTAINERFILE)
    assert 3 == len(installs)
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)
    for file in DEPLOY.rglob("*"):
        if file.is_file():
            assert not re.search("index-url|find-links|pypi|registry=", file.read_text()), file


def test_the_image_does_not_run_as_root_and_is_checked_by_a_linter() -> None:
    """Its last user is a number, as Kubernetes asks for it; hadolint finds nothing, nor in the image of PostgreSQL."""
    assert "10001:10001" == re.findall(r"^USER (.*)$", CONTAINERFILE, re.MULTILINE)[-1]
    checked(need("hadolint"), *(str(DEPLOY / folder / "Containerfile") for folder in ("container", "three-nodes")))


def test_the_check_of_the_image_asks_whether_the_house_is_ready(sqlite_house: House) -> None:
    """The command of HEALTHCHECK succeeds beside a house that serves, and fails without one."""
    [command] = re.findall(r"^HEALTHCHECK .*\\\n *CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    words = json.loads(command)
    program = need("python3")
    for port, succeeds in ((sqlite_house.port, True), (9, False)):
        environ = os.environ | {"SALEROOM_PORT": str(port)}
        done = subprocess.run([program, *words[1:]], env=environ, capture_output=True, check=False)
        assert succeeds == (done.returncode == 0), done.stderr


def services(name: str) -> dict[str, Any]:
    """Return the services of a file for compose."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text())["services"]
    return found


@pytest.mark.parametrize("name", COMPOSE)
def test_services_of_compose_are_confined(name: str) -> None:
    """Each has a root that nobody writes to, gains no rights, and comes back by itself."""
    for service in services(name).values():
        assert service["read_only"] is True
        assert ["no-new-privileges:true"] == service["security_opt"]
        assert "unless-stopped" == service["restart"]
    assert ["ALL"] == services(name)["house"]["cap_drop"]


def test_three_machines_in_containers_have_the_files_of_the_recipe() -> None:
    """Each file that compose mounts or reads is one of the recipe, at the place where its program looks for it."""
    found = services("three-nodes/compose.yaml")
    mounts = [
        mount.split(":") for service in found.values() for mount in service["volumes"] if mount.startswith("./files/")
    ]
    read = {Path(source).name: place for source, place, _ in mounts}
    accounts = re.findall("password_file (.*)/passwords", (DEPLOY / "three-nodes" / "mosquitto-core.conf").read_text())
    assert [read.pop("broker")] == accounts
    recipe = {file.name.replace("-core", "").replace("-edge", "") for file in (DEPLOY / "three-nodes").iterdir()}
    assert recipe >= {*read, Path(found["etcd"]["env_file"]).name}
    assert read["patroni.yml"] in (DEPLOY / "three-nodes" / "Containerfile").read_text()
    assert read["saleroom.toml"] in found["house"]["command"]
    patroni = yaml.safe_load((DEPLOY / "three-nodes" / "patroni.yml").read_text())["postgresql"]
    [image] = re.findall("FROM .*postgres:([0-9]+)", (DEPLOY / "three-nodes" / "Containerfile").read_text())
    assert f"/usr/lib/postgresql/{image}/bin" == patroni["bin_dir"]
    assert "postgresql:/var/lib/postgresql" in found["postgresql"]["volumes"]


@pytest.mark.parametrize("name", COMPOSE)
def test_settings_of_compose_can_be_used(name: str, tmp_path: Path) -> None:
    """The house takes the environment of its service, with the secrets that the file names, and its own file if it has one."""
    house = services(name)["house"]
    file = tmp_path / "etc" / "saleroom.toml"
    file.parent.mkdir()
    file.write_text((DEPLOY / "three-nodes" / "saleroom.toml").read_text().replace("THIS_ADDRESS", "192.0.2.1"))
    secrets = {"saleroom_database": "postgresql://ada:pw@database/saleroom", "saleroom_mqtt_password": "pw"}
    (tmp_path / "secrets").mkdir()
    for secret in house.get("secrets", []):
        (tmp_path / "secrets" / secret).write_text(secrets[secret])
    environ = {key: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for key, value in house["environment"].items()}
    if SECRETS_VARIABLE in environ:
        environ[SECRETS_VARIABLE] = str(tmp_path / "secrets")
    said = dict(zip(house.get("command", [])[1::2], house.get("command", [])[2::2], strict=True))
    config = str(file) if "--config" in said else None
    settings = load({"workers": said.get("--workers", "1")}, environ, config)
    assert settings.database.startswith("postgresql" if "secrets" in house or config else "sqlite")
    assert ("192.0.2.1" == settings.host) == bool(config)


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_takes_the_file(name: str, tmp_path: Path) -> None:
    """docker-compose finds every key where its schema has it. Its version 1 knows no `name`, which is left out for it."""
    program = need("docker-compose")
    text = (DEPLOY / name).read_text().replace("\nname: saleroom\n", "\n")
    for file in re.findall("env_file: (.*)", text):
        text = text.replace(file, str(DEPLOY / "three-nodes" / Path(file).name))
    (tmp_path / "compose.yaml").write_text(text)
    checked(program, "-f", str(tmp_path / "compose.yaml"), "config", "--quiet")


def test_compose_takes_litestream_beside_the_house(tmp_path: Path) -> None:
    """Litestream and the house have the same volume, and the house waits at the socket that Litestream's file names."""
    added = services("container/compose.litestream.yaml")
    config = yaml.safe_load((DEPLOY / "litestream" / "litestream.yml").read_text())
    assert {"SALEROOM_LITESTREAM_SOCKET": config["socket"]["path"]} == added["house"]["environment"]
    assert [config["dbs"][0]["path"]] == added["restore"]["command"][-1:]
    assert all("data:/var/lib/saleroom" in added[name]["volumes"] for name in ("volume", "restore", "litestream"))
    program = need("docker-compose")
    one, other = (tmp_path / name for name in ("compose.yaml", "compose.litestream.yaml"))
    for file in (one, other):
        file.write_text((DEPLOY / "container" / file.name).read_text().replace("\nname: saleroom\n", "\n"))
    (tmp_path / "litestream.env").touch()
    checked(program, "-f", str(one), "-f", str(other), "config", "--quiet")


def test_compose_takes_edges_beside_the_house(tmp_path: Path) -> None:
    """Each edge is confined like the house, follows it by the name of its service, and has a port of its own."""
    [edge] = services("container/compose.edge.yaml").values()
    house = services("container/compose.yaml")["house"]
    same = ("read_only", "cap_drop", "security_opt", "tmpfs", "restart", "image")
    assert [house[key] for key in same] == [edge[key] for key in same]
    assert ("http://house:9000",) == load({}, edge["environment"]).house
    assert ["127.0.0.1:9100-9101:9000"] == edge["ports"]
    assert ["edge"] == edge["command"]
    program = need("docker-compose")
    one, other = (tmp_path / name for name in ("compose.yaml", "compose.edge.yaml"))
    for file in (one, other):
        file.write_text((DEPLOY / "container" / file.name).read_text().replace("\nname: saleroom\n", "\n"))
    checked(program, "-f", str(one), "-f", str(other), "config", "--quiet")


@pytest.mark.parametrize("name", ["compose.yaml", "compose.internet.yaml"])
def test_compose_takes_a_store_beside_the_house(name: str, tmp_path: Path) -> None:
    """The house of either file has the place of its photos, and the secret of the key as a file, not as a variable."""
    program = need("docker-compose")
    one, other = (tmp_path / file for file in (name, "compose.store.yaml"))
    for file in (one, other):
        file.write_text((DEPLOY / "container" / file.name).read_text().replace("\nname: saleroom\n", "\n"))
    house = yaml.safe_load(checked(program, "-f", str(one), "-f", str(other), "config"))["services"]["house"]
    (folder := tmp_path / "secrets").mkdir()
    assert "saleroom_photo_store_secret_access_key" in {secret["source"] for secret in house["secrets"]}
    for secret in house["secrets"]:
        text = "postgresql://ada:pw@database/saleroom" if "database" in secret["source"] else "secret of the key"
        (folder / secret["source"]).write_text(text)
    place = load({}, house["environment"] | {SECRETS_VARIABLE: str(folder)}).photo_place
    assert place is not None
    assert ("bids-photos", "house", "secret of the key") == (place.bucket, place.prefix, place.secret_access_key)
    assert not [variable for variable in house["environment"] if "SECRET_ACCESS" in variable]


def test_image_and_package_have_what_a_store_needs() -> None:
    """Both install the same packages by their hashes: those of every house, at the same versions, and obstore."""
    assert "-r requirements/s3.txt" in CONTAINERFILE
    assert ROOT / "requirements" / "s3.txt" == deb.PACKAGES
    run, s3 = (
        dict(re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))
        for name in ("run", "s3")
    )
    assert run.items() < s3.items()
    assert {"obstore"} == s3.keys() - run.keys()


def test_litestream_knows_the_database() -> None:
    """The house does not start without Litestream, which reads its file and knows the database."""
    folder = DEPLOY / "litestream"
    unit, config = (folder / name for name in ("saleroom-litestream.service", "litestream.yml"))
    listed = checked(str(LITESTREAM), "databases", "-config", str(config))
    assert re.search(r"^/var/lib/saleroom/saleroom.db +s3", listed, re.MULTILINE)
    assert "Requires=saleroom-litestream.service" in (folder / "saleroom.conf").read_text()
    assert "-if-db-not-exists" in unit.read_text()


def test_the_package_lists_what_dpkg_deb_can_read(tmp_path: Path) -> None:
    """The control file of the package, filled in, is one for dpkg-deb."""
    program = need("dpkg-deb")
    folder = tmp_path / "root" / "DEBIAN"
    folder.mkdir(parents=True)
    text = (DEBIAN / "control").read_text()
    facts = {"VERSION": "1.2.3", "ARCHITECTURE": "all", "SIZE": "1", "PYTHON": "python3.11"}
    for name, value in facts.items():
        text = text.replace(f"@{name}@", value)
    (folder / "control").write_text(text)
    shutil.copy(DEBIAN / "templates", folder)
    checked(program, "--build", str(tmp_path / "root"), str(tmp_path / "made.deb"))
    assert "1.2.3" == checked(program, "--field", str(tmp_path / "made.deb"), "Version").strip()


@pytest.mark.parametrize(
    "line", [line for name, block in code("sh") if name == "docs/installing.md" for line in block.splitlines()]
)
def test_every_line_of_the_guide_can_be_typed(line: str) -> None:
    """Each line is a command of the house, a target of make, or one of a few programs, with files that are there."""
    variables, (program, *words) = parse_line(line.removeprefix("sudo "))
    if program == "docker" and "saleroom" in words:
        program, words = "saleroom", words[words.index("saleroom") + 1 :]
    if program == "saleroom":
        check_command(words, variables)
        return
    assert program in ELSEWHERE
    if program == "make":
        assert re.search(f"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [] == [word for word in words if word.startswith("deploy/") and not (ROOT / word).exists()]


def test_caddy_of_compose_does_what_the_tested_one_does(tmp_path: Path) -> None:
    """Caddy reads the file for compose as that of deploy/caddy, but for the place of the house."""
    program = need("caddy")
    files = (DEPLOY / "caddy" / "Caddyfile", DEPLOY / "container" / "Caddyfile")
    environ = os.environ | {"HOUSE_NAME": "bids.example", "HOME": str(tmp_path)}
    one, other = (
        subprocess.run(
            [program, "adapt", "--adapter", "caddyfile", "--config", str(file)],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for file in files
    )
    assert one.replace("127.0.0.1:9000", "house:9000") == other
