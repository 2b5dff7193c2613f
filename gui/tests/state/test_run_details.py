"""Details of a run: they show what it comes from and may use, and what it uses now."""

from tests.specimen import metrics, run

from mosaic_gui.state.curves import RunCurves
from mosaic_gui.state.run_details import details, use_rows


def test_details_hold_image_resources_and_arguments() -> None:
    """Image, resources, notes, arguments with defaults and packages; what is not there has no row."""
    spec = {"cpus": 2, "gpus": 1, "gpu_memory_mb": 2048, "memory_mb": 512}
    known = run(
        0, spec=spec, image="sha256:abc", note="try\n\nDry run", notes=["waits"], tags=["a", "b"]
    )
    config = {"arguments": {"gamma": 0.9, "cuda": True}, "packages": {"torch": "2.1"}}
    rows = dict(details(known, config))
    assert rows["Image"] == "sha256:abc"
    assert rows["Resources"] == "2 cores, 1 GPU (2,048 MiB of it), 512 MiB"
    assert (rows["Your note"], rows["What it says"], rows["Tags"]) == ("try", "waits", "a, b")
    assert (rows["gamma"], rows["cuda"], rows["torch (package)"]) == ("0.9", "true", "2.1")
    assert "Image" not in dict(details(run(1), {}))


def test_details_name_the_code_of_a_script() -> None:
    """Commit with whether there were changes, interpreter, and how many packages it had."""
    git = {"commit": "0123456789abcdef", "dirty": True}
    config = {"git": git, "interpreter": "/venv/bin/python", "installed": {"a": "1", "b": "2"}}
    rows = dict(details(run(1), config))
    assert rows["Commit"] == "0123456789ab and changes since"
    assert (rows["Interpreter"], rows["Packages"]) == ("/venv/bin/python", "2 packages")


def test_resource_use_is_shown_with_its_highest() -> None:
    """CPU and memory of its processes, also when it has ended; no GPU where none was reported."""
    curves = RunCurves()
    curves.take(metrics(1, "system/cpu_percent", [150.0, 97.4]))
    curves.take(metrics(3, "system/rss_bytes", [2.0**30]))
    used = [("CPU used", "last 97 %, peak 150 %"), ("RAM used", "last 1.0 GiB, peak 1.0 GiB")]
    assert use_rows(curves) == used
    assert dict(details(run(), {}, used))["CPU used"] == used[0][1]
