// The native module: a list of parts.
#include <nanobind/nanobind.h>

namespace gdlnn::bindings {
void register_canonical(nanobind::module_ &m);
void register_forest(nanobind::module_ &m);
void register_match(nanobind::module_ &m);
void register_mine(nanobind::module_ &m);
void register_neighborhoods(nanobind::module_ &m);
void register_plan(nanobind::module_ &m);
void register_shrink(nanobind::module_ &m);
} // namespace gdlnn::bindings

#ifdef GDLNN_CHECK_PROCESSOR
// Python looks for PyInit__core, which is in processor.cpp and ends here once the processor is
// known to be able.
NB_MODULE(_core_checked, m) {
#else
NB_MODULE(_core, m) {
#endif
    m.doc() = "The core of GDLNN: graph sets, matching, mining, canonical forms, forests. Arrays "
              "in, arrays out.";
#ifdef NDEBUG
    // Models keep their compiled programs until the process ends; that is not a leak.
    nanobind::set_leak_warnings(false);
#endif
    gdlnn::bindings::register_forest(m);
    gdlnn::bindings::register_match(m);
    gdlnn::bindings::register_mine(m);
    gdlnn::bindings::register_neighborhoods(m);
    gdlnn::bindings::register_plan(m);
    gdlnn::bindings::register_shrink(m);
    gdlnn::bindings::register_canonical(m);
}
