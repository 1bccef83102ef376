// The code generator for other processors, which is installed from outside.
#include "ir/compile/target_program.h"

#include <atomic>

#include "ir/core/error.h"

namespace md {
namespace {

std::atomic<TargetProgram (*)(const Graph&, const std::string&)> target_program_maker{nullptr};

}  // namespace

TargetProgram target_program(const Graph& functional, const std::string& target) {
  if (auto* maker = target_program_maker.load()) return maker(functional, target);
  throw InternalError("nothing makes code for " + target);
}

void make_target_programs_by(TargetProgram (*maker)(const Graph&, const std::string&)) {
  target_program_maker.store(maker);
}

}  // namespace md
