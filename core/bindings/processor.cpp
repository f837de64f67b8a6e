// The first code of the module that runs: a processor without x86-64-v2 gets an ImportError, not an
// illegal instruction. Compiled for any x86-64 processor.
#include <Python.h>

extern "C" PyObject *PyInit__core_checked();

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__core() {
    if (!__builtin_cpu_supports("sse3") || !__builtin_cpu_supports("ssse3") ||
        !__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") ||
        !__builtin_cpu_supports("popcnt")) {
        PyErr_SetString(
            PyExc_ImportError,
            "gdlnn: expected a processor with the x86-64-v2 instructions (SSE4.2 and POPCNT, in "
            "nearly every "
            "one since 2009), got one without; install it from its sources, for any processor: "
            "pip install . -C cmake.define.GDLNN_MARCH=x86-64");
        return nullptr;
    }
    return PyInit__core_checked();
}
