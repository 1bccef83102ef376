// Every guard kind's struct.
#pragma once

#include "frontend/guards/arrays.h"
#include "frontend/guards/attributes.h"
#include "frontend/guards/class_lookups.h"
#include "frontend/guards/containers.h"
#include "frontend/guards/distinct.h"
#include "frontend/guards/identity.h"
#include "frontend/guards/sizes.h"
#include "frontend/guards/state.h"
#include "frontend/guards/tensors.h"

namespace md {

// Calls f.template operator()<Kind>() for the struct of `kind`.
template <class F>
decltype(auto) with_kind(GuardKind kind, F&& f) {
  switch (kind) {
#define MD_GUARD(name)  \
  case GuardKind::name: \
    return f.template operator()<guards::name>();
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
  }
  __builtin_unreachable();
}

inline const char* printed_name(GuardKind kind) {
  return with_kind(kind, []<class K>() { return K::name; });
}

}  // namespace md
