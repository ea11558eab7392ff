"""Kernels: functions over arrays, compiled by Numba when first called, never at import.

A Spark worker pays for everything it imports, and Numba is the dearest import of all. So
``@kernel`` only wraps; the first call imports Numba, loads the machine code from the cache, and
compiles only where the cache has none. ``@elementwise`` marks a function written in operators
alone: called from Python it runs on NumPy arrays and needs no Numba at all; called from a kernel
it is compiled into it, so that both give the same bits from one definition.

This is the only place where Numba flags are chosen. ``fastmath`` stays off: a route must be the
same bits on every run.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# The other packages use Arrow, which starts threads; those would be dead in a forked worker.
_ROUTING = ("hashing", "sketch", "grouping")
_LOCK = threading.RLock()
_KERNELS: list[Kernel[..., Any]] = []


class Kernel(Generic[P, R]):
    """A function that Numba compiles, with everything it calls, when it is first needed."""

    def __init__(
        self, function: Callable[P, R], *, compiled_on_call: bool = True, inline: bool = False
    ) -> None:
        self.function = function
        self._inline = inline
        self._target: Callable[P, R] | None = None if compiled_on_call else function
        self._dispatcher: Any = None
        functools.update_wrapper(self, function)
        _KERNELS.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled, or, if elementwise, on NumPy."""
        if self._target is None:
            self._target = self.dispatcher
        return self._target(*args, **kwargs)

    @property
    def dispatcher(self) -> Any:
        """The Numba dispatcher, made on first use."""
        if self._dispatcher is None:
            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = _compile(self.function, inline=self._inline)
        return self._dispatcher

    def __repr__(self) -> str:
        return f"<kernel {self.function.__module__}.{self.function.__qualname__}>"


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile ``function`` on its first call. It may call other kernels of the package."""
    return Kernel(function)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Write ``function`` out in the kernels that call it.

    For a step that takes a named tuple of arrays and runs once a tuple: a call would copy the
    whole of it, which costs more than the step.
    """
    return Kernel(function, inline=True)


def elementwise(function: Callable[P, R]) -> Kernel[P, R]:
    """Run ``function`` on NumPy arrays from Python, compiled inside kernels."""
    return Kernel(function, compiled_on_call=False)


def preload() -> int:
    """Import Numba and load every cached kernel of routing; returns how many. Compiles nothing.

    For a process that forks Spark workers: what is loaded before the fork costs them nothing.
    """
    loaded = 0
    package = Path(__file__).parent
    for source in _kernel_sources():
        name = source.relative_to(package).with_suffix("").parts
        if name[0] in _ROUTING:
            importlib.import_module(".".join(("unskew", *name)))
    for each in _KERNELS:
        dispatcher = each.dispatcher
        for signature in _cached_signatures(dispatcher):
            dispatcher.compile(signature)
            loaded += 1
    return loaded


def _compile(function: Callable[..., Any], *, inline: bool) -> Any:
    import numba
    from numba.core import config

    # Numba resolves a callee through the caller's globals, where it would find our wrapper.
    namespace = dict(function.__globals__)
    for name in _names(function.__code__):
        if isinstance(callee := namespace.get(name), Kernel):
            namespace[name] = callee.dispatcher
    linked = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    linked.__qualname__ = function.__qualname__
    linked.__module__ = function.__module__
    if config.DISABLE_JIT:
        return linked
    # Without the runtime for reference counts (`_nrt`) a kernel cannot allocate, as it should not,
    # and a step called for every tuple does not count references to its arrays, which made
    # SpaceSaving ten times slower.
    dispatcher = numba.njit(
        nogil=True,
        error_model="numpy",
        boundscheck=False,
        _nrt=False,
        inline="always" if inline else "never",
    )(linked)
    # Numba checks a cached kernel against its own file only, and would go on using it after a
    # kernel that it calls has changed in another file. One folder per state of all sources ends
    # that. The folder is chosen while `enable_caching` runs, and the user's setting put back.
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        dispatcher.enable_caching()
    finally:
        config.CACHE_DIR = before
    return dispatcher


@functools.cache
def cache_folder() -> Path:
    """Say where compiled kernels are kept: beside the package, or where the user can write."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in (Path(__file__), *_kernel_sources()):
        name = source.relative_to(package).as_posix()
        digest.update(name.encode() + b"\0" + source.read_bytes())
    folder = f"kernels-{sys.implementation.cache_tag}-{digest.hexdigest()[:16]}"
    for parent in (package / "__pycache__", *_user_caches()):
        try:
            (parent / folder).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(parent / folder, os.W_OK):
            return parent / folder
    # A container may give its user neither. What is compiled then serves this process alone.
    return Path(tempfile.mkdtemp(prefix="unskew-")) / folder


def _user_caches() -> Iterator[Path]:
    if configured := os.environ.get("XDG_CACHE_HOME"):
        yield Path(configured, "unskew")
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".cache" / "unskew"


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _kernel_sources() -> Iterator[Path]:
    """Yield the files of the package that define kernels."""
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        if b"from unskew._kernel import" in source.read_bytes():
            yield source


def _cached_signatures(dispatcher: Any) -> list[Any]:
    """Return the signatures for which the cache has code that this processor runs."""
    cache = getattr(dispatcher, "_cache", None)  # none with the JIT disabled
    if cache is None:
        return []
    codegen = dispatcher.targetctx.codegen()
    index = cache._cache_file._load_index()
    return [key[0] for key in index if key == cache._index_key(key[0], codegen)]
