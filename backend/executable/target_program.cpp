// An executable built for a GPU becomes a list of launches with numbers in the place of sizes.
#include "backend/executable/target_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "backend/device_blocks/recorded_call.h"
#include "backend/executable/executable.h"
#include "backend/llvm/code_generator.h"
#include "backend/llvm/gpu_kernel.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
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
std::int64_t bytes_moved(const TargetTensor& t) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < t.sizes.size(); ++d)
    elements *= t.strides[d] == 0 ? std::min<std::int64_t>(t.sizes[d], 1) : t.sizes[d];
  return elements * static_cast<std::int64_t>(item_size(t.dtype));
}

constexpr const char* kOnTheCpu = "it runs on the CPU, where its tensors are";

class ProgramWriter {
 public:
  ProgramWriter(const Graph& g, const Executable& e, const std::string& target) : graph_(g), executable_(e) {
    program_.target = target;
    if (target.starts_with("sm_")) capability_ = std::stoi(target.substr(3));
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
    for (const Launch& s : executable_.launches) add(s);
    for (const Launch& s : executable_.commits) add(s);
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

  void add(const Launch& s) {
    if (s.gpu) {
      program_.launches.push_back(nest(s));
      return;
    }
    if (s.nest.function) {
      TargetLaunch made{.name = s.name, .why = kOnTheCpu};
      for (const Place& p : s.buffers) made.bytes += bytes_moved(tensor("", p));
      program_.launches.push_back(std::move(made));
      return;
    }
    TargetLaunch made = call(s);
    made.why = why_no_launches(s);
    if (made.why.empty()) made.why = add_kernels_of(s, made);
    if (!made.why.empty()) program_.launches.push_back(std::move(made));
  }

  // Why a call is not recorded, or "".
  std::string why_no_launches(const Launch& s) const {
    if (s.op == kNoOp) return "it calls code that is no part of the graph";
    bool from_cpu = false;
    for (const Arg& a : s.args) for_each_value(a, [&](const Node* in) { from_cpu |= on_cpu(in->type()); });
    const bool to_cpu = on_cpu(s.results[0].type);
    if (from_cpu != to_cpu && op(s.op).kind() == OpKind::Pointwise) return "it copies from one device to another";
    if (to_cpu) return kOnTheCpu;
    if (from_cpu) return "what it takes from the CPU is copied when it runs";
    if (!capability_) return "kernels of single operations are there as PTX only";
    return "";
  }
  // A graph of one device goes to the GPU whole.
  bool on_cpu(const TensorType& t) const { return mixed_ && t.device.is_cpu(); }

  // A call as an operation, without a kernel.
  TargetLaunch call(const Launch& s) const {
    TargetLaunch out{.name = s.name};
    for (const Arg& a : s.args) add_operands(a, out.operands);
    const std::string given = python_tuple(s.args);
    out.call = s.name + (s.args.size() == 1 ? "(" + python_repr(s.args[0]) + ")" : given);
    for (const Place& p : s.results) {
      out.results.push_back(tensor("", p));
      out.bytes += bytes_moved(out.results.back());
    }
    for (const TargetTensor& t : out.operands) out.bytes += bytes_moved(t);
    return out;
  }

  // The launches that the engine makes for it; why there are none, or "".
  std::string add_kernels_of(const Launch& s, const TargetLaunch& as_call) {
    std::vector<int> slots;  // memories of the call
    std::vector<std::int64_t> bytes;
    const auto add_slot = [&](const Place& p) {
      if (std::ranges::find(slots, p.slot) != slots.end()) return;
      slots.push_back(p.slot);
      bytes.push_back(likely_bytes(executable_.slots[static_cast<std::size_t>(p.slot)].type));
    };
    for (const Arg& a : s.args) for_each_value(a, [&](const Node* n) { add_slot(executable_.places.at(n)); });
    std::ranges::for_each(s.results, add_slot);
    const auto recorded =
        device_blocks::record_call(op(s.op), capability_, bytes, [&](std::span<const Ref<Storage>> storages) {
          const auto laid = [&](const Place& p) {
            const auto at = std::ranges::find(slots, p.slot) - slots.begin();
            return make_ref<TensorImpl>(storages[static_cast<std::size_t>(at)], p.type.dtype,
                                        likely_sizes(p.type.sizes), likely_sizes(p.type.strides), likely(p.shift));
          };
          device_blocks::CallOperands made;
          for (const Arg& a : s.args) made.args.push_back(with_numbers(a, laid));
          for (const Place& p : s.results) made.out.push_back(laid(p));
          return made;
        });
    if (!recorded.why.empty()) return recorded.why;
    std::vector<std::string> names;
    for (const int slot : slots) names.push_back(memories_[static_cast<std::size_t>(slot)]);
    for (const std::int64_t n : recorded.temporaries) {
      names.push_back(fmt::format("temporary {}", program_.temporaries.size()));
      program_.temporaries.push_back(n);
    }
    for (const device_blocks::RecordedLaunch& r : recorded.launches)
      program_.launches.push_back(kernel_of_call(r, as_call, names));
    return "";
  }

  static TargetLaunch kernel_of_call(const device_blocks::RecordedLaunch& r, const TargetLaunch& as_call,
                                     const std::vector<std::string>& memories) {
    TargetLaunch out = as_call;
    out.why.clear();
    out.entry = r.entry;
    out.code = device_blocks::kernel_text(r.entry);
    for (const device_blocks::RecordedWord& w : r.words) {
      using Kind = device_blocks::RecordedWord::Kind;
      if (w.kind == Kind::Status) {
        out.arguments.push_back({.kind = TargetArgument::Kind::Status, .memory = "", .size = ""});
      } else if (w.kind == Kind::Number) {
        out.arguments.push_back({.kind = TargetArgument::Kind::Param, .memory = "", .value = w.value, .size = ""});
      } else {
        out.arguments.push_back({.kind = TargetArgument::Kind::Buffer,
                                 .memory = memories.at(static_cast<std::size_t>(w.memory)),
                                 .dtype = DType::UInt8,
                                 .value = w.value,
                                 .size = ""});
      }
    }
    set_shape(out, r.shape);
    return out;
  }

  static void set_shape(TargetLaunch& out, const LaunchShape& shape) {
    std::ranges::copy(shape.grid, out.grid.begin());
    std::ranges::copy(shape.block, out.block.begin());
    out.shared_bytes = static_cast<std::int64_t>(shape.shared_bytes);
  }

  template <class Laid>
  Arg with_numbers(const Arg& a, const Laid& laid) const {
    if (const auto* n = a.get_if<Node*>()) return laid(executable_.places.at(*n));
    if (const auto* s = a.get_if<Size>()) return Size(likely(*s));
    const auto* l = a.get_if<ListArg>();
    if (!l) return a;
    ListArg made{{}, l->tuple};
    for (const Arg& x : l->items) made.items.push_back(with_numbers(x, laid));
    return made;
  }

  TargetLaunch nest(const Launch& s) const {
    TargetLaunch out{.name = s.name};
    const GpuKernel& kernel = *s.gpu;
    out.entry = kernel.entry;
    out.code = kernel.code;
    for (std::size_t i = 0; i < s.buffers.size(); ++i) {
      add_buffer(out, s.buffers[i], kernel.value_bytes[i] ? TargetArgument::Kind::Value : TargetArgument::Kind::Buffer);
      out.bytes += bytes_moved(tensor("", s.buffers[i]));
    }
    for (const Size n : kernel.params) add_number(out, TargetArgument::Kind::Param, n);
    add_number(out, TargetArgument::Kind::Rows, kernel.rows);
    add_number(out, TargetArgument::Kind::Cols, kernel.cols);
    out.arguments.push_back({.kind = TargetArgument::Kind::Status, .memory = "", .dtype = DType::Int32, .size = ""});
    set_shape(out, launch_shape(kernel.schedule, likely(kernel.rows), likely(kernel.cols), likely(kernel.folded)));
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

  void add_buffer(TargetLaunch& out, const Place& p, TargetArgument::Kind kind) const {
    out.arguments.push_back({.kind = kind,
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
  const bool mixed_ = !device_of_graph(graph_);
  TargetProgram program_;
  int capability_ = 0;                 // of NVIDIA's cards; else 0
  std::vector<std::string> memories_;  // per slot
};

}  // namespace

TargetProgram make_target_program(const Graph& functional, const std::string& target) {
  const Target gpu = gpu_target(target);
  // All of a graph on one device goes to the GPU; among several the CPU's part is no GPU's.
  const bool mixed = !device_of_graph(functional);
  const TargetOf target_of = [&](Device device) -> const Target& {
    return mixed && device.is_cpu() ? host_target() : gpu;
  };
  return ProgramWriter(functional, build_executable(functional, target_of), target).run();
}

}  // namespace md
