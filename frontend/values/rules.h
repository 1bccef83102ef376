// Rules for builtin and library functions: one block each in frontend/builtins/<family>.cpp.
#pragma once

#include <span>

#include "frontend/trace/tracer.h"
#include "frontend/values/functions.h"

namespace md {

using BuiltinRule = ValueRef (*)(Tracer& t, CallArgs& args);

struct BuiltinRow {
  const char* module;
  const char* name;  // dotted: "dict.fromkeys"
  BuiltinRule rule;
  bool realize = true;  // arguments are looked at before the rule runs
};

// Takes up a family of rules, while the package is imported.
void add_rules(std::span<const BuiltinRow> family);
// The rule of a real object, by identity; null if it has none.
const BuiltinRow* find_builtin_rule(PyObject* object);
// Before a trace: imports what tracing needs, once, and takes up the modules of the standard library that the program
// has imported since. Throws PythonError. False: somebody further up this thread, or another thread, is doing just
// that, and nothing can be traced.
bool tables_are_ready();

ValueRef call_builtin(Tracer& t, BuiltinValue& callee, CallArgs args);
// minidynamo.<name>(args): a graph node.
ValueRef call_op_function(Tracer& t, const std::string& name, CallArgs args);

// Positional arguments only, and that many: else throws WrongArguments (or breaks where nobody would catch the error).
void expect_args(Tracer& t, const char* name, const CallArgs& args, std::size_t least, std::size_t most);
// Of a constructor: "list expected at most 1 argument, got 2".
void expect_at_most(Tracer& t, const char* name, const CallArgs& args, std::size_t most);

}  // namespace md
