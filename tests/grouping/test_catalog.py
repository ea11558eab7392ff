import dataclasses
import importlib
import re
from pathlib import Path

import pytest

import unskew
from unskew.errors import UnknownNameError
from unskew.grouping import CATALOG, Grouping, Trait

# The function of the same name hides the package as an attribute of `unskew`.
package = importlib.import_module("unskew.grouping")
ROOT = Path(__file__).parents[2]


def test_a_near_miss_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="'pgk'; did you mean 'pkg'"):
        unskew.grouping("pgk", 10)


def test_a_name_unlike_any_gets_the_list():
    with pytest.raises(UnknownNameError, match=r"expected one of 'bounded', 'cg', .*'key'"):
        unskew.grouping("zzz", 10)


@pytest.mark.parametrize("name", [None, 7])
def test_what_is_no_name_is_refused_as_one(name):
    with pytest.raises(UnknownNameError):
        unskew.grouping(name, 10)


def test_a_misspelt_parameter_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="did you mean 'epsilon'"):
        unskew.grouping("d-choices", 10, epsilonn=0.1)


def test_an_unknown_parameter_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"parameter of 'pkg' is called 'theta'; .*'seed'"):
        unskew.grouping("pkg", 10, theta=0.1)


@pytest.mark.parametrize(("name", "scheme"), CATALOG.items())
def test_every_scheme_is_registered_under_its_own_name_and_exported(name, scheme):
    assert scheme.spec.name == name
    assert scheme.__name__ in package.__all__
    assert scheme.__doc__


def test_every_scheme_of_the_package_is_in_the_catalogue():
    exported = [getattr(package, name) for name in package.__all__]
    schemes = {
        thing for thing in exported if isinstance(thing, type) and issubclass(thing, Grouping)
    }
    assert schemes - {Grouping} == set(CATALOG.values())


@pytest.mark.parametrize("module", [unskew, package])
def test_all_names_what_exists(module):
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(("name", "scheme"), CATALOG.items())
def test_every_scheme_has_a_section_that_names_its_parameters(name, scheme):
    text = (ROOT / "docs" / "groupings.md").read_text()
    in_common, _, sections = text.partition(f"\n## {next(iter(CATALOG))}\n")

    section = f"\n## {next(iter(CATALOG))}\n{sections}".split(f"\n## {name}\n")[1].split("\n## ")[0]

    parameters = {field.name for field in dataclasses.fields(scheme)} - {"n_workers"}
    known = section + in_common
    assert [each for each in parameters if f"`{each}`" not in known] == []
    assert all(f"*{word}" in section for word in ("From", "Costs", "Take it", "Deviation"))


@pytest.mark.parametrize("page", ["README.md", "docs/groupings.md"])
def test_the_tables_of_the_documentation_list_the_catalogue(page):
    text = (ROOT / page).read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| (yes|no)\b.*\|$", text, re.MULTILINE)

    expected = {
        name: "yes" if Trait.SPLITS_KEYS in scheme.spec.traits else "no"
        for name, scheme in CATALOG.items()
    }
    assert dict(rows) == expected
    assert len(rows) == len(expected)
