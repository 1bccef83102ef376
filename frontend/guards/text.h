// How guards print.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md {

// "L['i'] == 3": the condition without its kind.
std::string condition_text(const CompiledGuards& p, const GuardRecord& r);
// An object as a few words, without running its code: "3", "class Point", "function f", "a list object".
std::string object_text(PyObject* o);
// The first of two texts, changed if they are the same: "another list object".
std::string told_apart(std::string before, const std::string& now);
// Of a failing guard on the object `o`: what it expects and what is there. Both empty: the condition tells.
void compare_texts(const GuardRecord& r, PyObject* o, std::string& expected, std::string& actual);
// Padded to 60 columns and followed by "  # <source line>  # <short file>:<line> in <function>", if the place is known.
std::string with_place(const CompiledGuards& p, const GuardRecord& r, const std::string& text);

// A path without what it has in common with the package's folder and one more character, as the reference cuts it.
std::string short_file(const std::string& file);

}  // namespace md
