import numpy as np
import pytest

import unskew
from unskew.errors import InvalidTypeError, SnapshotMismatchError
from unskew.hashing import hash_keys

HASHES = hash_keys(np.random.default_rng(0).zipf(1.5, 500))


def state_of(name, n_workers=10):
    router = unskew.grouping(name, n_workers).build()
    router.route(HASHES)
    return router.snapshot()


@pytest.mark.parametrize("name", unskew.groupings())
def test_bytes_bring_back_the_snapshot(name):
    data = state_of(name).to_bytes()

    assert unskew.Snapshot.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("name", unskew.groupings())
def test_a_snapshot_does_not_change_with_its_router(name):
    router = unskew.grouping(name, 10).build()
    snapshot = router.snapshot()
    before = snapshot.to_bytes()

    router.route(HASHES)

    assert snapshot.to_bytes() == before


@pytest.mark.parametrize("name", unskew.groupings())
def test_a_router_does_not_change_the_snapshot_it_resumes(name):
    snapshot = state_of(name)
    before = snapshot.to_bytes()

    unskew.grouping(name, 10).build(resume=snapshot).route(HASHES)

    assert snapshot.to_bytes() == before


def test_another_scheme_is_refused():
    with pytest.raises(SnapshotMismatchError, match="scheme is 'pkg'; expected 'w-choices'"):
        unskew.grouping("w-choices", 10).build(resume=state_of("pkg"))


@pytest.mark.parametrize("name", unskew.groupings())
def test_another_number_of_workers_is_refused(name):
    with pytest.raises(SnapshotMismatchError, match="number of workers is 10; expected 11"):
        unskew.grouping(name, 11).build(resume=state_of(name))


@pytest.mark.parametrize("name", unskew.groupings())
def test_a_snapshot_that_lacks_an_array_is_refused(name):
    whole = state_of(name)
    for missing in whole.arrays:
        arrays = {n: array for n, array in whole.arrays.items() if n != missing}
        damaged = unskew.Snapshot(name, 10, arrays)

        with pytest.raises(SnapshotMismatchError):
            unskew.grouping(name, 10).build(resume=damaged)


@pytest.mark.parametrize("name", unskew.groupings())
def test_a_snapshot_whose_arrays_have_another_type_is_refused(name):
    whole = state_of(name)
    for changed in whole.arrays:
        arrays = whole.arrays | {changed: whole.arrays[changed].astype("S8")}

        with pytest.raises(SnapshotMismatchError):
            unskew.grouping(name, 10).build(resume=unskew.Snapshot(name, 10, arrays))


@pytest.mark.parametrize("name", unskew.groupings())
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_numbers_that_cannot_be_are_refused(name, value):
    for changed, array in state_of(name).arrays.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        damaged = state_of(name)
        damaged.arrays[changed][-1] = value

        with pytest.raises(SnapshotMismatchError, match="array `"):
            unskew.grouping(name, 10).build(resume=damaged)


@pytest.mark.parametrize("name", unskew.groupings())
def test_flipped_bits_lead_to_a_refusal_or_to_routes_within_range(name):
    data = bytearray(state_of(name).to_bytes())
    random = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[random.integers(len(data))] ^= 1 << random.integers(8)
        try:
            router = unskew.grouping(name, 10).build(unskew.Snapshot.from_bytes(bytes(damaged)))
        except SnapshotMismatchError:
            continue
        workers = router.route(HASHES)
        assert workers.min() >= 0
        assert workers.max() < 10


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x03\x04cut off"])
def test_damaged_bytes_are_refused(data):
    with pytest.raises(SnapshotMismatchError, match="format is 'unreadable"):
        unskew.Snapshot.from_bytes(data)


def test_a_truncated_snapshot_is_refused():
    data = state_of("pkg").to_bytes()

    for end in range(0, len(data), 97):
        with pytest.raises(SnapshotMismatchError):
            unskew.Snapshot.from_bytes(data[:end])


def test_what_is_no_snapshot_is_refused():
    with pytest.raises(InvalidTypeError, match=r"`resume` is a dict; .*snapshot\(\)"):
        unskew.grouping("pkg", 10).build(resume={})
