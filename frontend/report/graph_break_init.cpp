// The graph-break table for Python: its rows, and which codes this compiler raises.
#include "frontend/report/graph_break_init.h"

#include <pybind11/pybind11.h>

#include "frontend/report/graph_break.h"

namespace md {
namespace {

namespace py = pybind11;

py::list list_of(std::string_view separated) {
  py::list list;
  for (std::string_view item : split_list(separated)) list.append(item);
  return list;
}

const char* class_name(BreakClass c) {
  switch (c) {
    case BreakClass::Fundamental:
      return "fundamental";
    case BreakClass::Supportable:
      return "supportable";
    case BreakClass::UserError:
      return "user_error";
    case BreakClass::Internal:
      return "internal";
  }
  return "";
}

py::dict row_dict(const BreakRow& row) {
  py::dict dict;
  dict["id"] = row.id;
  dict["code"] = break_code_name(row.code);
  dict["type"] = row.type;
  dict["context"] = row.context;
  dict["explanation"] = row.explanation;
  dict["hints"] = list_of(row.hints);
  dict["args"] = list_of(row.args);
  dict["area"] = row.area;
  dict["class"] = class_name(row.break_class);
  return dict;
}

py::list rows() {
  py::list list;
  for (const BreakRow& row : break_rows()) list.append(row_dict(row));
  return list;
}

struct StatusRow {
  int code;
  const char *status, *why, *python, *words;
};
constexpr StatusRow kStatuses[] = {
#define MD_BREAK_STATUS(code, status, why, python, words) {code, status, why, python, words},
#include "registry/graph_break_status.inc"
#undef MD_BREAK_STATUS
};

// code: (status, why, python, words), as registry/graph_breaks.toml has it.
py::dict statuses() {
  py::dict dict;
  for (const StatusRow& row : kStatuses)
    dict[break_code_name(row.code).c_str()] = py::make_tuple(row.status, row.why, row.python, row.words);
  return dict;
}

}  // namespace

void bind_registry(py::module_& module) {
  py::module_ registry = module.def_submodule("_registry", "The graph-break table.");
  registry.def("rows", &rows, "One dict per row of the graph-break table; templates hold {0}, {1}, ... for args.");
  registry.def("statuses", &statuses, "Code: (status; why it is not raised; on which CPythons it can be).");
}

}  // namespace md
