"""The recipes for Kubernetes in deploy/: they fit its schemas, and their settings are those of the house."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from saleroom.settings import SECRETS_VARIABLE, load
from tests.fixtures_house import House
from tests.installing.test_recipes import CONTAINERFILE, DEPLOY, checked
from tests.needs import need

OVERLAYS = ("sqlite", "postgresql")


@pytest.fixture(params=OVERLAYS)
def objects(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The objects of a house on Kubernetes by their kind, as `kubectl kustomize` writes them."""
    text = checked(need("kubectl"), "kustomize", str(DEPLOY / "kubernetes" / request.param))
    found: dict[str, Any] = {each["kind"]: each for each in yaml.safe_load_all(text)}
    return found | {"text": text, "overlay": request.param}


def test_objects_of_kubernetes_fit_its_schemas(objects: dict[str, Any]) -> None:
    """kubernetes-validate takes each, and no key that Kubernetes would ignore is in it."""
    program = need("kubernetes-validate")
    checked(program, "--strict", "-", typed=objects["text"])


def test_pods_are_restricted(objects: dict[str, Any]) -> None:
    """A pod meets the Pod Security Standard "restricted", and gets no variable from services of the namespace."""
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    [house] = pod["containers"]
    assert (True, "RuntimeDefault") == (
        pod["securityContext"]["runAsNonRoot"],
        pod["securityContext"]["seccompProfile"]["type"],
    )
    expected = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert expected == house["securityContext"]
    assert (False, False) == (pod["automountServiceAccountToken"], pod["enableServiceLinks"])
    kinds = {next(key for key in volume if key != "name") for volume in pod["volumes"]}
    assert kinds <= {"emptyDir", "secret", "persistentVolumeClaim"}


def test_probes_ask_where_the_house_answers(objects: dict[str, Any], sqlite_house: House) -> None:
    """Each probe gets 200 from a house; what kills a pod does not ask the database."""
    [house] = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    paths = {kind: house[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {200} == {sqlite_house.anyone.get(path).status_code for path in paths.values()}
    assert ("/healthz", "/healthz", "/readyz") == tuple(paths.values())


def test_settings_of_kubernetes_can_be_used(objects: dict[str, Any], tmp_path: Path) -> None:
    """The house takes the variables of its pod, over those of the image, with a secret `database` where it needs one."""
    [block] = re.findall(r"^ENV (.*(?:\\\n.*)*)$", CONTAINERFILE, re.MULTILINE)
    image = dict(re.findall(r"(SALEROOM_\w+)=(\S+)", block))
    (tmp_path / "mail_signature").write_text("The house\n")
    if objects["overlay"] == "postgresql":
        (tmp_path / "database").write_text("postgresql://ada:pw@db/saleroom\n")
    settings = load({}, image | objects["ConfigMap"]["data"] | {SECRETS_VARIABLE: str(tmp_path)})
    assert settings.database.startswith(objects["overlay"])
    replicas = objects["Deployment"]["spec"]["replicas"]
    assert (1 if objects["overlay"] == "sqlite" else 3) == replicas
    assert ("Recreate" == objects["Deployment"]["spec"]["strategy"].get("type")) == (replicas == 1)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_photos_go_to_a_store_by_a_component(overlay: str, tmp_path: Path) -> None:
    """The variables of the pod and its secret, which must be there, name a whole place; no variable has the secret."""
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    named = {"resources": [f"kubernetes/{overlay}"], "components": ["kubernetes/store"]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(named))
    text = checked(need("kubectl"), "kustomize", str(tmp_path))
    found: dict[str, Any] = {each["kind"]: each for each in yaml.safe_load_all(text)}
    [secret] = [one["secret"] for one in found["Deployment"]["spec"]["template"]["spec"]["volumes"] if "secret" in one]
    assert ("saleroom", False) == (secret["secretName"], secret["optional"])
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "photo_store_secret_access_key").write_text("secret of the key")
    place = load({}, found["ConfigMap"]["data"] | {SECRETS_VARIABLE: str(tmp_path / "secrets")}).photo_place
    assert place is not None
    assert ("bids-photos", "secret of the key") == (place.bucket, place.secret_access_key)
    assert not [name for name in found["ConfigMap"]["data"] if "SECRET_ACCESS" in name]


@pytest.fixture
def with_components(tmp_path: Path) -> list[dict[str, Any]]:
    """The objects of a house on SQLite with edges and Litestream."""
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    named = {"resources": ["kubernetes/sqlite"], "components": ["kubernetes/edge", "kubernetes/litestream"]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(named))
    return [*yaml.safe_load_all(checked(need("kubectl"), "kustomize", str(tmp_path)))]


def test_components_of_kubernetes_fit_its_schemas(with_components: list[dict[str, Any]]) -> None:
    """kubernetes-validate takes the house with both components."""
    program = need("kubernetes-validate")
    checked(program, "--strict", "-", typed=yaml.safe_dump_all(with_components))


def test_containers_of_components_are_confined(with_components: list[dict[str, Any]]) -> None:
    """Every container beside the house has as few rights as the house."""
    pods = [each["spec"]["template"]["spec"] for each in with_components if each["kind"] == "Deployment"]
    found = [one for pod in pods for one in (*pod["containers"], *pod.get("initContainers", ()))]
    assert ["house", "restore", "litestream", "edge"] == [one["name"] for one in found]
    assert 1 == len({json.dumps(one["securityContext"], sort_keys=True) for one in found})
    assert all(pod["securityContext"]["runAsNonRoot"] for pod in pods)
    assert [False, False] == [pod["enableServiceLinks"] for pod in pods]


def test_edges_on_kubernetes_find_the_house(with_components: list[dict[str, Any]]) -> None:
    """An edge takes its variables; its house is a service of the namespace; each policy and service has its own pods."""
    named = {(each["kind"], each["metadata"]["name"]): each["spec"] for each in with_components if "spec" in each}
    [edge] = named["Deployment", "saleroom-edge"]["template"]["spec"]["containers"]
    settings = load({}, {one["name"]: one["value"] for one in edge["env"]})
    assert ("http://saleroom",) == settings.house
    assert ("Service", "saleroom") in named
    for name in ("saleroom", "saleroom-edge"):
        own = {"app.kubernetes.io/name": name}
        assert own == named["Deployment", name]["template"]["metadata"]["labels"] == named["Service", name]["selector"]
        assert own == named["NetworkPolicy", name]["podSelector"]["matchLabels"]
    let_in = named["NetworkPolicy", "saleroom-from-edges"]
    assert {"app.kubernetes.io/name": "saleroom"} == let_in["podSelector"]["matchLabels"]


def test_litestream_on_kubernetes_copies_the_database_of_the_house(with_components: list[dict[str, Any]]) -> None:
    """It has the volume of the house, runs before and after it, and its socket is the one at which the house waits."""
    config = yaml.safe_load((DEPLOY / "litestream" / "litestream.yml").read_text())
    [pod] = [
        each["spec"]["template"]["spec"]
        for each in with_components
        if each["kind"] == "Deployment" and each["metadata"]["name"] == "saleroom"
    ]
    restore, litestream = pod["initContainers"]
    [house] = pod["containers"]
    assert {"name": "SALEROOM_LITESTREAM_SOCKET", "value": config["socket"]["path"]} in house["env"]
    assert restore["args"][-1] == config["dbs"][0]["path"]
    assert "Always" == litestream["restartPolicy"]
    data = {"name": "data", "mountPath": "/var/lib/saleroom"}
    assert all(data in one["volumeMounts"] for one in (restore, litestream, house))
