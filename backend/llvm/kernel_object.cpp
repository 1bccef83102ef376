// Keys of kernels, and the way from a nest to an object.
#include "backend/llvm/kernel_object.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/raw_ostream.h>

#include <bit>

#include "backend/build_identity.h"
#include "backend/llvm/code_generator.h"
#include "backend/llvm/emit.h"
#include "ir/core/error.h"

namespace md {
namespace {

// Writes everything the generated code depends on, in words apart by spaces.
class KernelText {
 public:
  KernelText(const LoopNest& nest, const Schedule& s, const Target& target)
      : rows_(s.rows), folded_(s.folded), cols_(s.cols) {
    words("llvm-" LLVM_VERSION_STRING, kBuildIdentity, target.code_key());
    words(s.shape == Schedule::Shape::Rows ? "rows" : "columns");
    numbers(s.rows.size(), s.lanes, s.fold_lanes, s.chunk, s.accumulate_in_memory, s.one_chunk, s.block,
            nest.reduced != 0);
    for (int p : s.pass) numbers(p);
    for (bool k : s.kept) numbers(k);
    add(nest);
  }
  KernelText(const LoopNest& nest, const GpuSchedule& s, const Target& target)
      : rows_(s.rows), folded_(s.folded), cols_(s.cols) {
    words("llvm-" LLVM_VERSION_STRING, kBuildIdentity, target.code_key());
    numbers(s.shape, s.rows.size(), s.folded.axes.empty(), s.x, s.y, s.width, s.fold_lanes, s.slots, s.unroll, s.rounds,
            s.rest, s.chunk, s.one_chunk, s.again, s.part, s.short_index, nest.buffers, nest.reduced != 0);
    // Code for rows, and for columns that stay in shared memory, knows how long they are.
    const Size count = extent(nest, s.again ? s.folded : s.cols);
    numbers((s.again || s.shape == GpuSchedule::Shape::Rows) && count.is_const() ? count.value() : -1);
    for (const std::vector<bool>& flags : {s.kept, s.of_part, s.staged}) {
      words("\nof");
      for (bool flag : flags) numbers(flag);
    }
    add(nest);
  }
  std::string take() { return std::move(text_); }

 private:
  template <class... T>
  void words(const T&... w) {
    ((text_ += w, text_ += ' '), ...);
  }
  template <class... T>
  void numbers(T... n) {
    ((text_ += std::to_string(static_cast<std::int64_t>(n)), text_ += ' '), ...);
  }

  void add(const LoopNest& nest) {
    for (const Access& a : nest.accesses) add("\nload", a);
    for (const NestValue& v : nest.values) add(v);
    for (const Store& st : nest.stores) {
      add("\nstore", st.to);
      numbers(st.value, st.second_of_pair);
    }
  }
  void add(const char* what, const Access& a) {
    words(what, info(a.dtype).name);
    numbers(a.buffer, a.by_value);
    for (const Loop& row : rows_) numbers(stride(a, row).is_const(0));
    numbers(stride(a, folded_).is_const(0));
    switch (stride_kind(stride(a, cols_))) {
      case StrideKind::Zero:
        return words("zero");
      case StrideKind::One:
        return words("one");
      case StrideKind::Two:
        return words("two");
      case StrideKind::Dynamic:
        return words("any");
    }
  }

  static const char* name(NestValue::Kind k) {
    switch (k) {
      case NestValue::Kind::Load:
        return "\nelement";
      case NestValue::Kind::Constant:
        return "\nconstant";
      case NestValue::Kind::Size:
        return "\nsize";
      case NestValue::Kind::Convert:
        return "\nconvert";
      case NestValue::Kind::Compute:
        return "\ncompute";
      case NestValue::Kind::Reduce:
        return "\nreduce";
    }
    return "";
  }
  void add(const NestValue& v) {
    words(name(v.kind), info(v.dtype).name, info(v.compute).name, v.op == kNoOp ? "-" : op(v.op).name());
    numbers(v.access, std::bit_cast<std::int64_t>(v.number), v.integer, v.stage, v.args.size());
    for (int a : v.args) numbers(a);
    const auto varies = [&](const Loop& loop) {
      for (int a : loop.axes)
        if ((v.axes >> a) & 1) return true;
      return false;
    };
    numbers(varies(cols_), varies(folded_), v.axes == 0);
  }

  const std::vector<Loop>& rows_;
  const Loop &folded_, &cols_;
  std::string text_;
};

void emit_checked(llvm::Module& module, const LoopNest& nest, const Schedule& schedule, const Target& target) {
  prepare_module(module, target);
  emit_kernel(module, nest, schedule, target);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) throw InternalError("generated code is malformed: " + problem);
}

}  // namespace

std::string describe_kernel(const LoopNest& nest, const Schedule& schedule, const Target& target) {
  return KernelText(nest, schedule, target).take();
}

static std::string digest_of(const std::string& text) {
  llvm::SHA256 digest;
  digest.update(llvm::StringRef(text));
  return llvm::toHex(digest.final(), true);
}

std::string kernel_key(const LoopNest& nest, const Schedule& schedule, const Target& target) {
  return digest_of(describe_kernel(nest, schedule, target));
}

std::string gpu_kernel_key(const LoopNest& nest, const GpuSchedule& schedule, const Target& target) {
  return digest_of(KernelText(nest, schedule, target).take());
}

std::string generate_kernel(const LoopNest& nest, const Schedule& schedule, const Target& target) {
  llvm::LLVMContext context;
  llvm::Module module(kKernelName, context);
  emit_checked(module, nest, schedule, target);
  return generate_object(module, target);
}

std::string kernel_ir(const LoopNest& nest, const Schedule& schedule, const Target& target) {
  llvm::LLVMContext context;
  llvm::Module module(kKernelName, context);
  emit_checked(module, nest, schedule, target);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace md
