// Prints graphs, plans, bytecode and sizes of a finished compilation for the log.
#include "frontend/driver/artifact_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/values/constant.h"
#include "frontend/values/tensor.h"
#include "ir/core/error.h"
#include "ir/infer/infer.h"

namespace md {

namespace {

std::string package_folder() {
  PyRef m = PyRef::steal(import_module("minidynamo"));
  PyRef file = m ? PyRef::steal(PyObject_GetAttrString(m.get(), "__file__")) : PyRef();
  PyErr_Clear();
  const std::string f = file ? text_of(file.get()) : "";
  return f.substr(0, f.rfind('/'));
}

void artifact(const char* name, const std::string& text) { report("log_artifact", {py_str(name), py_str(text)}); }

std::string titled(const std::string& title, const std::string& name, const std::string& code) {
  return fmt::format("{}\n ===== {} =====\n {}/fx/__init__.py {}\n", title, name, package_folder(), code);
}

// "(3, 4)", "(3,)", "()"
template <class Extent>
std::string tuple_text(const SizeVec& sizes, Extent&& text) {
  std::string out;
  for (const Size& s : sizes) out += (out.empty() ? "" : ", ") + text(s);
  return "(" + out + (sizes.size() == 1 ? ",)" : ")");
}

const char* step_name(StepOp op) {
  switch (op) {
    case StepOp::LoadSource:
      return "LoadSource";
    case StepOp::LoadConst:
      return "LoadConst";
    case StepOp::LoadOutput:
      return "LoadOutput";
    case StepOp::LoadLocal:
      return "LoadLocal";
    case StepOp::EvaluateSize:
      return "EvaluateSize";
    case StepOp::BuildTuple:
    case StepOp::BuildTupleType:
      return "BuildTuple";
    case StepOp::NewList:
      return "NewList";
    case StepOp::NewDict:
      return "NewDict";
    case StepOp::NewSet:
      return "NewSet";
    case StepOp::BuildFrozenSet:
      return "BuildFrozenSet";
    case StepOp::BuildSlice:
      return "BuildSlice";
    case StepOp::NewCell:
      return "NewCell";
    case StepOp::NewObject:
      return "NewObject";
    case StepOp::NewException:
      return "NewException";
    case StepOp::MakeFunction:
      return "MakeFunction";
    case StepOp::MakeMethod:
      return "MakeMethod";
    case StepOp::GetAttr:
      return "GetAttr";
    case StepOp::Call:
      return "Call";
    case StepOp::Iterate:
      return "Iterate";
    default:
      return "Effect";
  }
}

const char* effect_name(StepOp op) {
  switch (op) {
    case StepOp::ListAppend:
      return "ListAppend";
    case StepOp::ListAssign:
      return "ListAssign";
    case StepOp::DequeExtend:
      return "DequeExtend";
    case StepOp::DequeCall:
      return "DequeCall";
    case StepOp::DictSet:
      return "DictSet";
    case StepOp::DictDelete:
      return "DictDelete";
    case StepOp::DictClear:
      return "DictClear";
    case StepOp::SetAdd:
      return "SetAdd";
    case StepOp::SetDiscard:
      return "SetDiscard";
    case StepOp::SetClear:
      return "SetClear";
    case StepOp::AttrSet:
      return "AttrSet";
    case StepOp::AttrDelete:
      return "AttrDelete";
    case StepOp::CellSet:
      return "CellSet";
    case StepOp::GlobalSet:
      return "GlobalSet";
    case StepOp::Advance:
      return "Advance";
    case StepOp::SetGradEnabled:
      return "SetGradEnabled";
    default:
      return step_name(op);
  }
}

std::string step_text(const PlanStep& s) {
  std::string out = s.out >= 0 ? fmt::format("r{} = {}", s.out, effect_name(s.op)) : effect_name(s.op);
  if (s.source) out += " " + s.source->name;
  if (s.op == StepOp::LoadOutput || s.op == StepOp::LoadLocal || s.op == StepOp::Iterate || s.op == StepOp::Advance ||
      s.op == StepOp::SetGradEnabled)
    out += fmt::format(" {}", s.index);
  if (s.op == StepOp::EvaluateSize) out += " " + to_string(s.size);
  if (s.a >= 0) out += fmt::format(" r{}", s.a);
  if (s.op == StepOp::ListAssign && s.count >= 0) out += fmt::format(" [{}:{}]", s.index, s.index + s.count);
  if (s.object) out += " " + constant_repr(s.object.get());
  if (s.b >= 0) out += fmt::format(" r{}", s.b);
  for (const Reg r : s.regs) out += r < 0 ? " -" : fmt::format(" r{}", r);
  return out;
}

std::string part_code_name(const char* what, const BreakPoint::Part& part) {
  return fmt::format("{} {}", what, text_of(reinterpret_cast<PyCodeObject*>(part.code.get())->co_name));
}

}  // namespace

std::string graph_code_text(const Graph& g) {
  return titled("TRACED GRAPH", g.name, print_code(g, {.strides = true, .device = true}));
}

std::string graph_sizes_text(const Graph& g) {
  std::string out = fmt::format("TRACED GRAPH TENSOR SIZES\n===== {} =====\n", g.name);
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Output || n->types.empty() || n->is_size) continue;
    const SizeVec& sizes = n->types[0].sizes;
    out += fmt::format("{}: {}\n", n->name, tuple_text(sizes, [](Size s) { return to_string(s); }));
    if (std::ranges::all_of(sizes, [](const Size& s) { return s.is_const(); })) continue;
    try {
      out += fmt::format("{} (concrete): {}\n", n->name,
                         tuple_text(sizes, [](Size s) { return std::to_string(hint(s)); }));
    } catch (const InternalError&) {  // a size that only the data decides
    }
  }
  return out;
}

std::vector<std::string> plan_lines(const EntryPlan& plan, const std::string& graph_name) {
  std::vector<std::string> lines;
  for (const PlanStep& s : plan.loads) lines.push_back(step_text(s));
  if (plan.kernel) {
    std::string call;
    for (const SizePlace& p : plan.size_inputs) call += (call.empty() ? "" : ", ") + to_string(p);
    for (const SourceRef s : plan.inputs) call += (call.empty() ? "" : ", ") + s->name;
    lines.push_back(fmt::format("outputs = {}({})", graph_name, call));
  }
  for (const PlanStep& s : plan.steps) lines.push_back(step_text(s));
  for (const PlanStep& s : plan.effects) lines.push_back(step_text(s));
  if (!plan.broken) {
    lines.push_back(fmt::format("return r{}", plan.result));
    return lines;
  }
  std::string held;
  for (const Reg r : plan.broken->held) held += fmt::format(" r{}", r);
  lines.push_back("hold" + held);
  return lines;
}

void log_traced_graph(const Graph& g, const LogSwitches& logs) {
  if (logs.graph_code) artifact("graph_code", graph_code_text(g));
  if (logs.graph_sizes) artifact("graph_sizes", graph_sizes_text(g));
  if (!logs.graph) return;
  PyRef rows = checked(PyList_New(0));
  for (const auto& row : table_rows(g)) {
    PyRef cells = checked(PyTuple_New(static_cast<Py_ssize_t>(row.size())));
    for (std::size_t k = 0; k < row.size(); ++k)
      PyTuple_SET_ITEM(cells.get(), static_cast<Py_ssize_t>(k), py_str(row[k]).release());
    checked(PyList_Append(rows.get(), cells.get()));
  }
  report("log_graph_table", {py_str(g.name), rows});
}

void log_functional_graph(const Graph& g, const char* direction) {
  artifact("aot_graphs", titled("TRACED GRAPH", fmt::format("{} graph of {}", direction, g.name),
                                print_code(g, {.strides = true, .device = true})));
}

void log_fusion(const Graph& functional, const Backend& backend, const char* direction) {
  artifact("fusion", fmt::format("KERNELS\n ===== {} graph of {} =====\n{}", direction, functional.name,
                                 backend.fusion(functional)));
}

void log_gradient_hint(const Graph& g, const char* why) {
  artifact("perf_hints", fmt::format("backward() through {} runs it again op by op: {}", g.name, why));
}

void log_bytecode(const FrameRequest& request, const EntryPlan& plan, const std::string& graph_name) {
  PyRef lines = checked(PyList_New(0)), parts = checked(PyList_New(0));
  for (const std::string& line : plan_lines(plan, graph_name)) checked(PyList_Append(lines.get(), py_str(line).get()));
  const auto add = [&](const char* what, const BreakPoint::Part& part) {
    if (!part.code) return;
    PyRef title = py_str(part_code_name(what, part));
    checked(PyList_Append(parts.get(), checked(PyTuple_Pack(2, title.get(), part.code.get())).get()));
  };
  if (plan.broken) {
    add("BREAKING INSTRUCTION of", plan.broken->breaking);
    add("RESUMED CODE of", plan.broken->resume);
    add("RESUMED CODE, jump taken, of", plan.broken->resume_taken);
  }
  report("log_bytecode",
         {PyRef::borrow(reinterpret_cast<PyObject*>(request.code)), py_str(request.printed_name), lines, parts});
}

void log_perf_hints(const Graph& g, const Tracer& t, const std::string& op_by_op) {
  if (!op_by_op.empty())
    artifact("perf_hints", fmt::format("{} runs op by op, nothing is fused: {}", g.name, op_by_op));
  for (const auto& v : t.graphs.inputs) {
    const TensorType& type = v->type;
    Size expected = 1;
    bool gaps = false;
    for (std::size_t d = type.sizes.size(); d-- > 0;) {
      if (type.sizes[d].is_const(1)) continue;
      gaps |= !(type.strides[d] == expected);
      expected = expected * type.sizes[d];
    }
    if (gaps)
      artifact("perf_hints",
               fmt::format("{}: the input {} is not contiguous (sizes {}, strides {}), so its elements are not read in "
                           "the order they lie in memory. If it is used often, pass {}.contiguous()",
                           g.name, v->source->name, sizes_text(type.sizes), sizes_text(type.strides), v->source->name));
  }
}

// Those that are constants are compared by the tensor guard.
void log_input_sizes(const Tracer& t) {
  std::vector<std::pair<std::string, Size>> numbers;
  for (const auto& v : t.graphs.inputs) {
    for (const bool strides : {false, true}) {
      const SizeVec& of = strides ? v->type.strides : v->type.sizes;
      for (std::size_t d = 0; d < of.size(); ++d)
        numbers.emplace_back(fmt::format("{}.{}()[{}]", v->source->name, strides ? "stride" : "size", d), of[d]);
    }
    numbers.emplace_back(v->source->name + ".storage_offset()", v->type.offset);
  }
  for (const auto& [name, size] : numbers)
    report("log_debug", {py_str(fmt::format("track_symint {} {} None", name, to_string(size)))});
  for (const auto& [name, size] : numbers)
    if (size.is_const()) report("log_debug", {py_str(fmt::format("Skipping guard {} == {}", name, size.value()))});
}

}  // namespace md
