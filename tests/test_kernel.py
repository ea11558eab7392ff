import inspect
import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import unskew
from unskew import _kernel
from unskew.hashing import candidates, xxhash64
from unskew.hashing.candidates import candidate
from unskew.hashing.mix import mix, spread

SOURCE = Path(unskew.__file__).parent
HASHES = np.arange(1, 65, dtype=np.uint64)

# How often the kernel of PKG came from the cache, and how often it was compiled.
STATS = """
from unskew.grouping.pkg import _route_pkg
stats = _route_pkg.dispatcher.stats
hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
"""
ROUTE = """
import numpy as np
import unskew
hashes = np.arange(1, 65, dtype=np.uint64)
routed = unskew.grouping("pkg", 8).build().route(hashes).tolist()
"""


def start(code, folder=SOURCE.parent, **environment):
    """Run code in a fresh interpreter, on the package in ``folder``."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHON", "XDG_"))}
    # NumPy's own threads are none of this package's; see the daemon.
    clean |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(folder)} | environment
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """What the code printed, read as JSON."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(output)


def run(code, folder=SOURCE.parent, **environment):
    return finish(start(f"import json\n{textwrap.dedent(code)}", folder, **environment))


def copy_package(folder):
    """A copy of the package without anything compiled; returns the folder to import it from."""
    shutil.copytree(SOURCE, folder / "unskew", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def compiled(folder):
    return sorted(path.name for path in folder.rglob("*.nbc"))


@pytest.fixture
def cold(tmp_path):
    return copy_package(tmp_path / "cold")


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A copy of the package whose cache has the kernels of PKG, and those that hash strings.

    ``import unskew`` imports the former but not the latter.
    """
    folder = copy_package(tmp_path_factory.mktemp("warm"))
    printed = run(
        ROUTE
        + STATS
        + """
unskew.hash_keys(["a"])
print(json.dumps([unskew.__file__, hits, misses]))
""",
        folder,
    )
    assert printed == [str(folder / "unskew" / "__init__.py"), 0, 1]
    return folder


# --- what is imported, and when --------------------------------------------------------------


def test_routing_without_a_kernel_imports_neither_numba_nor_arrow():
    heavy = run("""
        import sys
        import numpy as np
        import unskew
        for name in ("key", "shuffle", "consistent", "key-groups"):
            router = unskew.grouping(name, 7).build(source=3)
            router.route(np.arange(100, dtype=np.int64), np.ones(100))
            snapshot = unskew.Snapshot.from_bytes(router.snapshot().to_bytes())
            router.grouping.build(snapshot).route(np.arange(100, dtype=np.uint64))
        heavy = {"numba", "llvmlite", "pyarrow", "pandas", "pyspark", "scipy"}
        print(json.dumps(sorted(heavy & sys.modules.keys())))
    """)

    assert heavy == []


def test_a_router_that_is_only_built_imports_no_numba():
    # The driver builds and pickles groupings; only a task routes.
    heavy = run("""
        import sys
        import unskew
        for name in unskew.groupings():
            unskew.grouping(name, 7).build().snapshot()
        print(json.dumps(sorted({"numba", "pyarrow"} & sys.modules.keys())))
    """)

    assert heavy == []


def test_a_compiled_scheme_imports_numba_when_it_first_routes():
    # Else the tests above would pass for want of anything to import.
    modules = run(ROUTE + "import sys\nprint(json.dumps(['numba' in sys.modules]))")

    assert modules == [True]


# --- the cache -------------------------------------------------------------------------------


def test_a_second_process_loads_the_kernel_and_compiles_nothing(warm):
    before = compiled(warm)

    found = run(ROUTE + STATS + "print(json.dumps([hits, misses, routed]))", warm)

    assert found == [1, 0, unskew.grouping("pkg", 8).build().route(HASHES).tolist()]
    assert compiled(warm) == before


def test_a_kernel_follows_an_edit_in_a_file_that_it_calls(cold):
    # PKG is in grouping/pkg.py and calls `mix`. Numba alone would look at pkg.py only, and go on
    # with the old machine code.
    observe = (
        ROUTE
        + """
from unskew.hashing import candidate
print(json.dumps([routed[0], candidate(hashes, 0, 0, 8).tolist()]))
"""
    )
    first_before, expected_before = run(observe, cold)
    source = cold / "unskew" / "hashing" / "mix.py"
    text = source.read_text()
    assert text.count("0xBF58476D1CE4E5B9") == 1

    source.write_text(text.replace("0xBF58476D1CE4E5B9", "0xBF58476D1CE4E5BB"))
    first_after, expected_after = run(observe, cold)

    assert expected_before == candidate(HASHES, 0, 0, 8).tolist()
    assert expected_after != expected_before, "NumPy follows the edit"
    # The first tuple meets no load, so PKG sends it to its first candidate.
    assert first_before == expected_before[0]
    assert first_after == expected_after[0], "so does the kernel"
    assert first_after != first_before


def test_every_state_of_the_sources_has_a_cache_of_its_own(tmp_path):
    folders = {}
    for edited in ("nothing", "hashing/mix.py", "grouping/pkg.py", "_kernel.py", "errors.py"):
        folder = copy_package(tmp_path / edited.replace("/", "-"))
        if edited != "nothing":
            with (folder / "unskew" / edited).open("a") as file:
                file.write("# edited\n")
        folders[edited] = Path(
            run(
                "from unskew._kernel import cache_folder\nprint(json.dumps(str(cache_folder())))",
                folder,
            )
        ).name

    assert len(set(folders.values())) == 4
    assert folders["errors.py"] == folders["nothing"], "no kernel is in it"


@pytest.mark.parametrize("named", ["by XDG_CACHE_HOME", "by HOME alone"])
def test_the_cache_is_at_home_where_the_package_cannot_be_written(cold, tmp_path, named):
    # A file in the place of the folder: taking away permissions would not stop root.
    for folder in [path for path in (cold / "unskew").rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()
    (cold / "unskew" / "__pycache__").touch()
    home = tmp_path / "home"
    given = {"HOME": str(home), "XDG_CACHE_HOME": ""}  # empty is as good as not set
    place = home / ".cache" / "unskew"
    if named == "by XDG_CACHE_HOME":
        given["XDG_CACHE_HOME"] = str(tmp_path / "xdg")
        place = tmp_path / "xdg" / "unskew"
    observe = ROUTE + STATS + "print(json.dumps([hits, misses, routed]))"
    expected = unskew.grouping("pkg", 8).build().route(HASHES).tolist()

    assert run(observe, cold, **given) == [0, 1, expected]
    assert run(observe, cold, **given) == [1, 0, expected]

    assert any(name.startswith("pkg._route_pkg") for name in compiled(place))
    assert compiled(cold) == []


def test_without_any_place_to_write_kernels_still_run(cold, tmp_path):
    # A container may be read-only and its user without a home.
    for folder in [cold / "unskew", *(cold / "unskew").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    nowhere, temporary = tmp_path / "a file", tmp_path / "tmp"
    nowhere.touch()
    temporary.mkdir()
    places = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "TMPDIR": str(temporary)}

    routed = run(ROUTE + "print(json.dumps(routed))", cold, **places)

    assert routed == unskew.grouping("pkg", 8).build().route(HASHES).tolist()
    assert compiled(cold) == []


def test_the_users_own_setting_of_numba_is_left_alone(warm, tmp_path):
    theirs = tmp_path / "theirs"

    found = run(
        ROUTE
        + STATS
        + """
from numba.core import config
print(json.dumps([config.CACHE_DIR, hits, misses]))
""",
        warm,
        NUMBA_CACHE_DIR=str(theirs),
    )

    assert found == [str(theirs), 1, 0]
    assert not theirs.exists()


# --- preload ---------------------------------------------------------------------------------

PRELOAD = """
import os, sys
from unskew import _kernel
loaded = _kernel.preload()
def total(kind):
    return sum(sum(getattr(k.dispatcher.stats, kind).values()) for k in _kernel._KERNELS)
hits, misses = total("cache_hits"), total("cache_misses")
threads = len(os.listdir("/proc/self/task"))
"""


def test_preload_loads_every_cached_kernel_and_compiles_none(warm):
    found = run(PRELOAD + "print(json.dumps([loaded, hits, misses]))", warm)

    count = len(compiled(warm))
    assert count > 1
    assert found == [count, count, 0]


def test_after_preload_a_route_loads_nothing_more(warm):
    before, after = run(
        PRELOAD
        + "before = [hits, misses]\n"
        + ROUTE
        + """
print(json.dumps([before, [total("cache_hits"), total("cache_misses")]]))
""",
        warm,
    )

    assert after == before


def test_preload_starts_no_thread_and_imports_no_arrow(warm):
    # The daemon forks right after it, and a fork copies only the thread that calls it.
    threads, numba, arrow = run(
        PRELOAD + "print(json.dumps([threads, 'numba' in sys.modules, 'pyarrow' in sys.modules]))",
        warm,
    )

    assert (threads, numba, arrow) == (1, True, False)


def test_preload_of_an_empty_cache_loads_nothing_and_compiles_nothing(cold):
    found = run(PRELOAD + "print(json.dumps([loaded, hits, misses]))", cold)

    assert found == [0, 0, 0]
    assert compiled(cold) == []


def test_preload_compiles_nothing_for_a_cache_from_another_processor(cold):
    # An image built elsewhere, a home shared by unlike machines: the daemon would compile all of
    # it anew before it forks the first worker.
    run(ROUTE + "print(json.dumps(None))", cold, NUMBA_CPU_NAME="generic")
    before = compiled(cold)

    found = run(PRELOAD + "print(json.dumps([loaded, hits, misses]))", cold)

    assert found == [0, 0, 0]
    assert compiled(cold) == before


def test_warming_up_leaves_no_kernel_of_routing_to_be_loaded():
    # On the package itself: what it compiles is in the cache for the other tests.
    before, after = run("""
        import numpy as np
        import unskew
        from unskew import _kernel
        from unskew.grouping.catalog import warm_up

        def needed():
            stats = [each.dispatcher.stats for each in _kernel._KERNELS]
            kinds = [[*each.cache_hits.values(), *each.cache_misses.values()] for each in stats]
            return sum(map(sum, kinds))

        warm_up()
        before = needed()
        for name in unskew.groupings():
            for weights in (None, np.ones(3)):
                router = unskew.grouping(name, 10).build()
                router.route(np.arange(3, dtype=np.uint64), weights)
        print(json.dumps([before, needed()]))
    """)

    assert before > 0
    assert after == before


# --- first calls at the same time --------------------------------------------------------------


def test_threads_that_all_call_first_get_the_right_result(cold):
    # Nothing is compiled or even imported yet: every thread meets the others in the middle of it.
    results = run(
        """
        import threading
        import numpy as np
        import unskew
        from unskew.hashing.candidates import inside
        barrier = threading.Barrier(8)
        hashes = np.arange(1, 65, dtype=np.uint64)
        words = [np.uint64(word) for word in (6, 1, 3, 7, 7)]
        results = [None] * 8

        def first_call(at):
            router = unskew.grouping("pkg", 8).build()
            barrier.wait()
            if at % 2:
                results[at] = [int(inside(*words)), router.route(hashes).tolist()]
            else:
                routed = router.route(hashes).tolist()
                results[at] = [int(inside(*words)), routed]

        threads = [threading.Thread(target=first_call, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(json.dumps(results))
        """,
        cold,
    )

    # The walk of 7 workers from 6 goes to (1 + 6 * 3) mod 7 = 5, which is one of the 6 others.
    expected = unskew.grouping("pkg", 8).build().route(HASHES).tolist()
    assert results == [[5, expected]] * 8


def test_processes_that_all_compile_first_get_the_right_result(cold):
    # Spark starts its workers together, and on a new machine none of them finds a cache.
    code = "import json\n" + ROUTE + "print(json.dumps(routed))"

    results = [finish(process) for process in [start(code, cold) for _ in range(2)]]

    assert results == [unskew.grouping("pkg", 8).build().route(HASHES).tolist()] * 2


# --- kernels -----------------------------------------------------------------------------------

ELEMENTWISE = [
    mix,
    spread,
    candidates.first_of,
    candidates.second_offset,
    candidates.step_of,
    xxhash64._rotate,
    xxhash64._avalanche,
    xxhash64._absorb_4,
    xxhash64._absorb_8,
    xxhash64.hash_ints,
    xxhash64.hash_longs,
]


@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda function: function.__name__)
def test_an_elementwise_function_gives_the_same_bits_on_numpy_and_compiled(function):
    random = np.random.default_rng(0)
    edges = [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]

    def argument(name):
        if name == "bits":  # shifting by 64 or by nothing means nothing
            return np.array([*range(1, 64)] * 2, np.uint64)
        drawn = random.integers(0, 2**64, 126, np.uint64)
        drawn[: len(edges)] = random.permutation(np.array(edges, np.uint64))
        return drawn

    columns = [argument(name) for name in inspect.signature(function.function).parameters]

    on_numpy = function(*columns)
    one_by_one = [function.dispatcher(*row) for row in zip(*columns, strict=True)]

    assert on_numpy.dtype == np.uint64
    assert on_numpy.tolist() == one_by_one


def test_every_elementwise_function_is_compared():
    on_numpy = {
        each.function
        for each in _kernel._KERNELS
        if each._target is each.function and each.function.__module__.startswith("unskew.hashing")
    }

    assert {each.function for each in ELEMENTWISE} == on_numpy


def test_kernels_run_as_plain_python_where_the_jit_is_off():
    # For a debugger, and for a coverage report: slow, and the same routes.
    observe = """
        import warnings
        import numpy as np
        import unskew
        warnings.simplefilter("ignore", RuntimeWarning)  # words wrap around, as they should
        hashes = np.arange(600, dtype=np.uint64) ** 3 % 41
        weights = np.arange(600) % 4 / 4
        made = {}
        for name in unskew.groupings():
            router = unskew.grouping(name, 6).build()
            made[name] = router.route(hashes).tolist() + router.route(hashes, weights).tolist()
        print(json.dumps(made))
    """

    assert run(observe, NUMBA_DISABLE_JIT="1") == run(observe)


def test_a_kernel_keeps_the_name_and_the_words_of_its_function():
    assert mix.__name__ == "mix"
    assert "Mix a word" in mix.__doc__
    assert repr(candidates.inside) == "<kernel unskew.hashing.candidates.inside>"


def test_there_is_one_dispatcher_however_many_threads_ask_first():
    def add_one(x):
        return x + 1

    each = _kernel.kernel(add_one)
    try:
        with ThreadPoolExecutor(8) as pool:
            dispatchers = list(pool.map(lambda _: id(each.dispatcher), range(32)))
    finally:
        _kernel._KERNELS.remove(each)

    assert len(set(dispatchers)) == 1
