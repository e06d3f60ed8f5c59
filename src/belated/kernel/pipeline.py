"""Functions of the kernel: compiled up to LLVM code, which their callers link.

numba finishes every function as if Python would call it: it optimises it together with all that it calls and makes
machine code of it, and does so again with each of its callers, up to the entry. A :class:`KernelFunction` is left
unfinished, and optimised once, as a part of each entry. This halves the time to compile an entry with many parts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numba
from numba.core import cgutils, codegen, compiler, lowering, registry, typed_passes, untyped_passes
from numba.core.compiler_machinery import register_pass

from belated.kernel.code_key import first_line

_numba: Any = numba
_library: Any = codegen.JITCodeLibrary
_compiler: Any = compiler
_lowering: Any = typed_passes.NativeLowering
_lower: Any = lowering.Lower
_generator: Any = cgutils
_dispatcher: Any = registry.CPUDispatcher
_register: Any = register_pass


class _LinkedLibrary(_library):  # type: ignore[misc]
    """LLVM code that is neither optimised nor made into machine code, only linked into that of its callers."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _LocatedLower(_lower):  # type: ignore[misc]
    """In code with ``boundscheck``, an index out of bounds is an ``IndexError(module, function, line)``, the line
    counted from the first of its body, so that code from the disk knows it wherever the function has moved to."""

    def lower_inst(self, inst: Any) -> None:
        if not self.flags.boundscheck:
            super().lower_inst(inst)
            return
        about, before = self.func_ir.func_id, _generator.do_boundscheck
        place = about.modname, about.func_qualname, inst.loc.line - first_line(about.code)
        _generator.do_boundscheck = partial(_check_index, place)  # under the compiler's lock
        try:
            super().lower_inst(inst)
        finally:
            _generator.do_boundscheck = before


def _check_index(place: Any, context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
    outside = builder.icmp_unsigned(">=", index, size)  # a negative one is a large one
    with _generator.if_unlikely(builder, outside):
        context.call_conv.return_user_exc(builder, IndexError, place)


@_register(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(_lowering):  # type: ignore[misc]
    """numba's pass from typed code to LLVM code, without what makes machine code of it."""

    _name = "linked_lowering"
    lowering_class = _LocatedLower

    def run_pass(self, state: Any) -> bool:
        library = state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        library.finalize()
        lowered = state["cr"]
        about, environment = lowered.fndesc, lowered.env
        name = about.qualname.split(".")[-1]
        function = _numba._dynfunc.make_function(about.lookup_module(), name, "", 0, environment, (library,))
        state.targetctx.insert_user_function(function, about, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=function)
        return True


_UNUSED: Any = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
}
"""Passes for what the kernel does not use: with blocks, closures, expressions of arrays. They took a twelfth of the
time to compile an entry."""


class LinkedCompiler(_compiler.CompilerBase):  # type: ignore[misc]
    """numba's passes with that one; all of them for a user's code, which alone is compiled with checks of indices."""

    def define_pipelines(self) -> list[Any]:
        unused = () if self.state.flags.boundscheck else _UNUSED
        passes = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [(each, text) for each, text in passes.passes if each not in unused]
        passes.passes = [(_LinkedLowering if each is _lowering else each, text) for each, text in kept]
        passes.finalize()
        return [passes]


class _Plain(threading.local):
    active = False


_plain = _Plain()


@contextmanager
def plain_python() -> Iterator[None]:
    """Run kernel functions that Python calls in this thread as they are written, without compiling them."""
    before, _plain.active = _plain.active, True
    try:
        yield
    finally:
        _plain.active = before


class KernelFunction(_dispatcher):  # type: ignore[misc]
    """A function that compiled code calls. Where Python calls it, it is compiled for that separately."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions={"nopython": True, **options}, pipeline_class=LinkedCompiler)
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments) if _plain.active else self._for_python(*arguments)

    @cached_property
    def _for_python(self) -> Any:
        options = {name: value for name, value in self._options.items() if not name.startswith("no_")}
        return numba.njit(self.py_func, **options)
