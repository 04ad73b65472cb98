"""The files of infra/ against the schemas that packages bring; no cluster is there to try them on."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from ray.autoscaler._private.util import fillout_defaults, validate_config

INFRA = Path(__file__).resolve().parents[2] / "infra"
KUBERNETES = "1.33"
RAY_JOB = yaml.safe_load((INFRA / "kuberay/rayjob.yaml").read_text())
CLUSTER = RAY_JOB["spec"]["rayClusterSpec"]
GROUPS = {"head": CLUSTER["headGroupSpec"]} | {each["groupName"]: each for each in CLUSTER["workerGroupSpecs"]}
DOCKERFILES = sorted((INFRA / "docker").glob("*.Dockerfile"))


@pytest.mark.parametrize("group", GROUPS)
def test_pods(group: str) -> None:
    template = GROUPS[group]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": group}, **template}
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    spec = template["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    [container] = spec["containers"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}


def test_only_workers_are_spot_machines_and_only_gpu_nodes_have_gpus() -> None:
    spots = {group for group, each in GROUPS.items() if "spot" in str(each["template"]["spec"].get("tolerations"))}
    gpus = {group for group, each in GROUPS.items() if "nvidia.com/gpu" in str(each["template"]["spec"]["containers"])}
    assert (spots, gpus) == ({"cpu", "gpu"}, {"gpu"})


def test_versions_agree() -> None:
    constraints = (INFRA.parent / ".ci/constraints.txt").read_text()
    [version] = re.findall(r"^ray==(.+)$", constraints, re.MULTILINE)
    assert CLUSTER["rayVersion"] == version
    for file in DOCKERFILES:
        assert re.findall(r"ray\[[a-z,]+\]==([0-9.]+)", file.read_text()) == [version], file.name


def test_rays_launcher() -> None:
    validate_config(fillout_defaults(yaml.safe_load((INFRA / "ray/cluster.yaml").read_text())))


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_images_are_pinned_and_not_run_as_root(file: Path) -> None:
    lines = file.read_text().splitlines()
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert all(re.search(r":\d+\.\d+\.\d+", base) for base in bases)
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER 1000"
    copied = [line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert all((INFRA.parent / each).exists() for each in copied)
