// Objects that were different in the trace are different: a change of one is not seen through another.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md::guards {

struct Distinct {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
    auto fact = std::make_unique<AliasFact>();
    fact->registers.push_back(b.register_of(g.source));
    for (SourceRef s : g.others) fact->registers.push_back(b.register_of(s));
    op.alias = fact.get();
    b.compiled.aliases.push_back(std::move(fact));
  }
  template <bool explain>
  [[gnu::noinline]] static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return all_different(*op.alias, regs);
  }
  static std::string text(const GuardRecord& r, const std::string&) { return r.described; }

 private:
  static bool all_different(const AliasFact& f, PyObject* const* regs);
};

}  // namespace md::guards
