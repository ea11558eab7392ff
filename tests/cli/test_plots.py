import numpy as np

from unskew.cli.plots import save_loads

LOADS = {"before": np.array([9.0, 2, 1]), "after": np.array([4.0, 4, 4])}
SECONDS = {"before": 3.0, "after": 1.0}


def test_a_picture_has_a_panel_for_each_run(tmp_path):
    file = tmp_path / "loads.svg"

    save_loads(file, LOADS, SECONDS)

    text = file.read_text()
    assert text.count('<g id="axes_') == 2


def test_the_same_figures_give_the_same_picture(tmp_path):
    for name in ("one.svg", "two.svg"):
        save_loads(tmp_path / name, LOADS, SECONDS)

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_picture_may_be_png(tmp_path):
    save_loads(tmp_path / "loads.png", LOADS, SECONDS)

    assert (tmp_path / "loads.png").read_bytes().startswith(b"\x89PNG")
