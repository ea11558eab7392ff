import numpy as np

from unskew.cli.plots import save_loads, save_tradeoff

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


def test_a_tradeoff_names_every_scheme_in_every_panel(tmp_path):
    points = {"pkg": (1.5, 2.0), "shuffle": (30.0, 0.0), "waterline": (1.01, 0.01)}
    for name in ("one.svg", "two.svg"):
        save_tradeoff(tmp_path / name, {"Zipf 1": points, "Zipf 2": points})

    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert text.count('<g id="axes_') == 2
    assert text.count("<!-- waterline -->") == 2
