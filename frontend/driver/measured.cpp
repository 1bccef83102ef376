// What is measured under which name, and the functions by which Python reads it.
#include "frontend/driver/measured.h"

#include <fmt/format.h>

#include "frontend/cpython/object_text.h"
#include "frontend/report/events.h"
#include "frontend/tensors/boundary.h"
#include "ir/run/cost_totals.h"

namespace md {
namespace {

const char* name_of_kind(PartKind kind) {
  switch (kind) {
    case PartKind::Op:
      return "op";
    case PartKind::Region:
      return "region";
    case PartKind::Kernel:
      return "kernel";
    case PartKind::Break:
      return "break";
    case PartKind::MachineCode:
      return "machine_code";
    case PartKind::Plain:
      return "plain";
    case PartKind::Rest:
      return "rest";
    case PartKind::Compile:
      return "compile";
    case PartKind::Guards:
      return "guards";
  }
  return "";
}

// (kind, name, function, file, line, column, end_line, end_column, compile_id): a kernel has the place of its region.
PyRef site_tuple(const PartSite& site, const PartSite* region) {
  const PartName &about = site.about, &place = region ? region->about : about;
  return checked(Py_BuildValue("(sNNNiiiiN)", name_of_kind(about.kind), py_str(about.name).release(),
                               py_str(place.function).release(), py_str(place.file).release(), place.line, about.column,
                               about.end_line, about.end_column, py_str(place.compile_id).release()));
}

PyRef rows_of_costs() {
  PyRef list = checked(PyList_New(0));
  for (const CostTotal& t : cost_totals()) {
    PyRef row = checked(Py_BuildValue("(NLddLi)", site_tuple(*t.site, t.region).release(),
                                      static_cast<long long>(t.calls), t.seconds, t.own_seconds,
                                      static_cast<long long>(t.site->about.bytes * t.calls), t.threads));
    checked(PyList_Append(list.get(), row.get()));
  }
  return list;
}

PyRef rows_of_parts() {
  PyRef list = checked(PyList_New(0));
  for (const TimedPart& p : take_timed_parts()) {
    PyRef row = checked(Py_BuildValue("(NddK)", site_tuple(*p.site, p.region).release(), p.start, p.seconds,
                                      static_cast<unsigned long long>(p.thread)));
    checked(PyList_Append(list.get(), row.get()));
  }
  return list;
}

PyObject* py_observe_costs(PyObject*, PyObject* on) {
  const int wanted = PyObject_IsTrue(on);
  if (wanted < 0) return nullptr;
  observe_parts(kForCosts, wanted);
  Py_RETURN_NONE;
}
PyObject* py_cost_rows(PyObject*, PyObject*) {
  return guarded([] { return rows_of_costs().release(); });
}
PyObject* py_take_cost_parts(PyObject*, PyObject*) {
  return guarded([] { return rows_of_parts().release(); });
}
PyObject* py_cost_counts(PyObject*, PyObject*) {
  const CostCounts counts = cost_counts();
  return Py_BuildValue("(LLd)", static_cast<long long>(counts.parts_left_out), static_cast<long long>(counts.measured),
                       seconds_of_measuring());
}

PyObject* py_copy_bandwidth(PyObject*, PyObject*) {
  return guarded([] { return PyFloat_FromDouble(copy_bandwidth()); });
}

PyMethodDef kCostFunctions[] = {
    {"_observe_costs", py_observe_costs, METH_O, "Whether it is summed up what parts of the program take."},
    {"_cost_rows", py_cost_rows, METH_NOARGS, "[(site, calls, seconds, own seconds, bytes, threads)] so far."},
    {"_take_cost_parts", py_take_cost_parts, METH_NOARGS, "[(site, start, seconds, thread)] since the last time."},
    {"_cost_counts", py_cost_counts, METH_NOARGS, "(parts not in the time line, times measured, seconds of one)."},
    {"_copy_bandwidth", py_copy_bandwidth, METH_NOARGS, "Bytes a second of a large copy, measured now."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PartName about_code(PartKind kind, PyCodeObject* code) {
  const FrameNotes* notes = find_frame_notes(code);
  const bool renamed = notes && !notes->printed_name.empty();
  return {.kind = kind,
          .name = "",
          .function = renamed ? notes->printed_name : text_of(code->co_name),
          .file = text_of(code->co_filename),
          .line = code->co_firstlineno};
}

PartName about_entry(PartKind kind, const Entry& entry, PyCodeObject* code) {
  PartName about = about_code(kind, code);
  about.compile_id = fmt::format("{}/{}", entry.frame_id, entry.entry_id);
  return about;
}

PyObject* measured_single(const Entry& entry, const EntryPlan& plan, PyCodeObject* code, const FrameArgs& args,
                          PyObject* const* found, bool& committed) {
  const Observed observed([&] { return &entry.site; }, [&] { return about_entry(PartKind::Region, entry, code); });
  return run_single_output(plan, args, found, committed).release();
}

int init_measured(PyObject* module) { return PyModule_AddFunctions(module, kCostFunctions); }

}  // namespace md
