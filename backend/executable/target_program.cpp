// An executable built for a GPU becomes a list of launches with numbers in the place of sizes.
#include "backend/executable/target_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "backend/executable/executable.h"
#include "backend/llvm/gpu_kernel.h"
#include "ir/core/error.h"
#include "ir/graph/op_table.h"
#include "ir/graph/text.h"
#include "ir/tensor/extent.h"

namespace md {
namespace {

DimVec likely_sizes(const SizeVec& s) {
  DimVec out;
  for (const Size x : s) out.push_back(likely(x));
  return out;
}

std::int64_t likely_bytes(const TensorType& t) {
  return static_cast<std::int64_t>(checked_bytes(likely_sizes(t.sizes), likely_sizes(t.strides), 0, t.dtype));
}

// Elements that differ in their place, as bytes.
std::int64_t bytes_moved(const TensorType& t) {
  std::int64_t elements = 1;
  for (int d = 0; d < t.dim(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t size = likely(t.sizes[at]);
    elements *= t.strides[at].is_const(0) ? std::min<std::int64_t>(size, 1) : size;
  }
  return elements * static_cast<std::int64_t>(item_size(t.dtype));
}

class ProgramWriter {
 public:
  ProgramWriter(const Graph& g, const Executable& e, const std::string& target) : graph_(g), executable_(e) {
    program_.target = target;
  }

  TargetProgram run() {
    name_memories();
    std::size_t number = 0;
    for (const auto& n : graph_.nodes) {
      if (n->kind != NodeKind::Placeholder) continue;
      TargetTensor t = tensor(n->name, executable_.inputs.at(number++));
      t.bytes = n->is_size ? 0 : likely_bytes(n->type());
      t.is_size = n->is_size;
      program_.inputs.push_back(std::move(t));
    }
    for (const Launch& s : executable_.launches) program_.launches.push_back(launch(s));
    for (const Launch& s : executable_.commits) program_.launches.push_back(launch(s));
    return std::move(program_);
  }

 private:
  // Memory of its own has an output that is the first to lie in it.
  void name_memories() {
    memories_.resize(executable_.slots.size());
    for (std::size_t i = 0; i < executable_.outputs.size(); ++i) {
      const Place& p = executable_.outputs[i];
      const Slot& s = executable_.slots[static_cast<std::size_t>(p.slot)];
      std::string& memory = memories_[static_cast<std::size_t>(p.slot)];
      if (s.kind == Slot::Kind::Output && memory.empty()) memory = fmt::format("output {}", i);
    }
    for (std::size_t i = 0; i < executable_.slots.size(); ++i) {
      const Slot& s = executable_.slots[i];
      if (!memories_[i].empty()) continue;
      if (s.kind == Slot::Kind::Input) {
        memories_[i] = fmt::format("input {}", s.input);
      } else if (s.kind == Slot::Kind::Constant) {
        memories_[i] = fmt::format("constant {}", program_.constants.size());
        program_.constants.push_back(tensor("", {.slot = static_cast<int>(i), .type = s.type}));
        program_.constants.back().bytes = likely_bytes(s.type);
        program_.constants.back().constant = s.constant;
      } else {
        memories_[i] = fmt::format("temporary {}", program_.temporaries.size());
        program_.temporaries.push_back(likely_bytes(s.type));
      }
    }
    for (std::size_t i = 0; i < executable_.outputs.size(); ++i) {
      const Place& p = executable_.outputs[i];
      TargetTensor t = tensor("", p);
      if (t.memory == fmt::format("output {}", i))
        t.bytes = likely_bytes(executable_.slots[static_cast<std::size_t>(p.slot)].type);
      program_.outputs.push_back(std::move(t));
    }
  }

  TargetTensor tensor(const std::string& name, const Place& p) const {
    TargetTensor t{.name = name, .memory = memory(p), .dtype = p.type.dtype};
    for (const Size s : p.type.sizes) t.sizes.push_back(likely(s));
    for (const Size s : p.type.strides) t.strides.push_back(likely(s));
    t.shift = likely(p.shift);
    return t;
  }

  const std::string& memory(const Place& p) const { return memories_[static_cast<std::size_t>(p.slot)]; }

  TargetLaunch launch(const Launch& s) const {
    TargetLaunch out{.name = s.name};
    const auto add_bytes = [&](const Place& p) { out.bytes += bytes_moved(p.type); };
    if (!s.gpu) {
      out.why = s.op != kNoOp ? "it runs as one call of the operation" : "it calls code that is no part of the graph";
      for (const Arg& a : s.args) add_operands(a, out.operands);
      const std::string given = python_tuple(s.args);
      out.call = s.name + (s.args.size() == 1 ? "(" + python_repr(s.args[0]) + ")" : given);
      for (const Place& p : s.results) out.results.push_back(tensor("", p));
      std::ranges::for_each(s.results, add_bytes);
      return out;
    }
    const GpuKernel& kernel = *s.gpu;
    out.entry = kernel.entry;
    out.code = kernel.code;
    for (const Place& p : s.buffers) add_buffer(out, p);
    std::ranges::for_each(s.buffers, add_bytes);
    for (const Size n : kernel.params) add_number(out, TargetArgument::Kind::Param, n);
    add_number(out, TargetArgument::Kind::Rows, kernel.rows);
    add_number(out, TargetArgument::Kind::Cols, kernel.cols);
    out.arguments.push_back({.kind = TargetArgument::Kind::Status, .memory = "", .dtype = DType::Int32, .size = ""});
    const LaunchShape shape =
        launch_shape(kernel.schedule, likely(kernel.rows), likely(kernel.cols), likely(kernel.folded));
    std::ranges::copy(shape.grid, out.grid.begin());
    std::ranges::copy(shape.block, out.block.begin());
    out.shared_bytes = static_cast<std::int64_t>(shape.shared_bytes);
    out.instructions = likely(s.work.elements) * s.work.instructions;
    out.double_instructions = likely(s.work.elements) * s.work.double_instructions;
    return out;
  }

  void add_operands(const Arg& a, std::vector<TargetTensor>& operands) const {
    if (const auto* l = a.get_if<ListArg>())
      for (const Arg& x : l->items) add_operands(x, operands);
    const auto* n = a.get_if<Node*>();
    if (!n || std::ranges::find(operands, (*n)->name, &TargetTensor::name) != operands.end()) return;
    if (const auto at = executable_.places.find(*n); at != executable_.places.end())
      operands.push_back(tensor((*n)->name, at->second));
  }

  void add_buffer(TargetLaunch& out, const Place& p) const {
    out.arguments.push_back({.kind = TargetArgument::Kind::Buffer,
                             .memory = memory(p),
                             .dtype = p.type.dtype,
                             .value = likely(p.shift),
                             .size = p.shift.is_const() ? "" : to_string(p.shift)});
  }

  static void add_number(TargetLaunch& out, TargetArgument::Kind kind, Size n) {
    out.arguments.push_back({.kind = kind,
                             .memory = "",
                             .dtype = DType::Int64,
                             .value = likely(n),
                             .size = n.is_const() ? "" : to_string(n)});
  }

  const Graph& graph_;
  const Executable& executable_;
  TargetProgram program_;
  std::vector<std::string> memories_;  // per slot
};

}  // namespace

TargetProgram make_target_program(const Graph& functional, const std::string& target) {
  return ProgramWriter(functional, build_executable(functional, gpu_target(target)), target).run();
}

}  // namespace md
