// The families of rules, in one list.
#pragma once

#include <array>
#include <span>

#include "frontend/values/methods.h"
#include "frontend/values/rules.h"

namespace md {

std::span<const BuiltinRow> object_rules();    // isinstance, getattr, type, super, ...
std::span<const BuiltinRow> sequence_rules();  // len, range, zip, list, sorted, ...
std::span<const BuiltinRow> number_rules();    // abs, min, sum, int, operator.*, ...
std::span<const BuiltinRow> library_rules();   // functools, contextlib, our own _dynamo functions, grad mode
std::span<const BuiltinRow> itertools_rules();
std::span<const BuiltinRow> autograd_rules();   // autograd.Function
std::span<const BuiltinRow> array_rules();      // what NumPy's polyfills and tensors hand each other
std::span<const BuiltinRow> class_rules();      // class statements
std::span<const BuiltinRow> frame_rules();      // sys.exc_info, sys._getframe
std::span<const BuiltinRow> polyfill_rules();   // what polyfills of the library ask of the trace
std::span<const BuiltinRow> override_rules();   // torch.overrides
std::span<const BuiltinRow> marked_rules();     // nonstrict_trace, checkpoint, error_on_graph_break, ...
std::span<const BuiltinRow> region_rules();     // cond, while_loop, scan, ...
std::span<const BuiltinRow> transform_rules();  // levels of vmap and grad
std::span<const BuiltinRow> setting_rules();    // default dtype, threads, ...

inline auto builtin_families() {
  return std::array{
      object_rules(),     //
      sequence_rules(),   //
      number_rules(),     //
      library_rules(),    //
      itertools_rules(),  //
      autograd_rules(),   //
      array_rules(),      //
      class_rules(),      //
      frame_rules(),      //
      polyfill_rules(),   //
      override_rules(),   //
      marked_rules(),     //
      region_rules(),     //
      transform_rules(),  //
      setting_rules(),    //
  };
}

std::span<const MethodRow> list_methods();
std::span<const MethodRow> dict_methods();
std::span<const MethodRow> set_methods();
std::span<const MethodRow> deque_methods();
inline std::array<std::span<const MethodRow>, 4> method_families() {
  return {list_methods(), dict_methods(), set_methods(), deque_methods()};
}

// Hands them to the rooms below, which look them up: once, at import.
void init_rules();

}  // namespace md
