// Prints conditions, objects and files of guards, and what the actual value was where one failed.
#include "frontend/guards/text.h"

#include <dlfcn.h>

#include <string_view>

#include "frontend/cpython/object_attr.h"
#include "frontend/guards/kinds.h"

namespace md {
namespace {

constexpr std::size_t kConditionWidth = 60;

// The folder the extension lies in is the package's.
const std::string& package_folder() {
  static const std::string folder = [] {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&package_folder), &info) || !info.dli_fname) return std::string("/");
    const std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/'));
  }();
  return folder;
}

// Length of the longest common leading path of two absolute paths, "/" at least.
std::size_t common_path(std::string_view a, std::string_view b) {
  std::size_t common = 1;
  for (std::size_t i = 1;; ++i) {
    const bool a_ends = i >= a.size() || a[i] == '/', b_ends = i >= b.size() || b[i] == '/';
    if (a_ends != b_ends) return common;
    if (a_ends) common = i;
    if (i >= a.size() || i >= b.size()) return common;
    if (a[i] != b[i]) return common;
  }
}

}  // namespace

std::string short_file(const std::string& file) {
  if (file.empty() || file[0] != '/') return file;
  const std::size_t from = common_path(file, package_folder()) + 1;
  return from < file.size() ? file.substr(from) : file;
}

std::string strip_local_scope(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text.compare(i, 3, "L['") == 0 ? text.find("']", i) : std::string::npos;
    const bool word_before = i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) || text[i - 1] == '_');
    if (end == std::string::npos || word_before) {
      out += text[i++];
      continue;
    }
    out += text.substr(i + 3, end - i - 3);
    i = end + 2;
  }
  return out;
}

std::string class_name(PyTypeObject* type) {
  const std::string full = type->tp_name;
  return full.substr(full.rfind('.') + 1);
}

std::string class_text(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return std::string("<class '") + type->tp_name + "'>";
  static PyObject* const key = PyUnicode_InternFromString("__module__");
  PyObject* module = type_find(type, key);
  const char* name = utf8_of(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname);
  std::string text = module && PyUnicode_CheckExact(module) ? utf8_of(module) : "";
  // Mirrored names print as the original's.
  if (text.rfind("minidynamo", 0) == 0) text = "torch" + text.substr(10);
  return "<class '" + (text.empty() || text == "builtins" ? "" : text + ".") + name + "'>";
}

std::string Why::source() const {
  return strip_local_scope(compiled->nodes[static_cast<std::size_t>(record->node)].name);
}

std::string condition_text(const CompiledGuards& p, const GuardRecord& r) {
  static const std::string none;
  const std::string& source = r.node >= 0 ? p.nodes[static_cast<std::size_t>(r.node)].name : none;
  return with_kind(r.kind, [&]<class K>() { return K::text(r, source); });
}

// "Color.RED" of a member of an enumeration, else empty.
static std::string member_text(PyObject* o) {
  const PyRef members = PyRef::steal(PyUnicode_InternFromString("__members__"));
  const PyRef key = PyRef::steal(PyUnicode_InternFromString("_name_"));
  if (!members || !key || !type_find(Py_TYPE(Py_TYPE(o)), members.get())) return {};
  const Found name = instance_find(o, key.get());
  if (name.status != Lookup::Found || !PyUnicode_CheckExact(name.value)) return {};
  return class_name(Py_TYPE(o)) + "." + utf8_of(name.value);
}

// The first of many items, between brackets.
static std::string listed_items(const char* open, PyObject* items, const char* close) {
  constexpr Py_ssize_t kShown = 16;
  const PyRef all = checked(PySequence_List(items));
  const Py_ssize_t count = PyList_GET_SIZE(all.get());
  std::string text = open;
  for (Py_ssize_t i = 0; i < std::min(count, kShown); ++i)
    text += (i ? ", " : "") + constant_repr(PyList_GET_ITEM(all.get(), i));
  if (count > kShown) text += ", ... " + std::to_string(count - kShown) + " more";
  return text + close;
}

static std::string set_items(PyObject* o) {
  if (!PyAnySet_CheckExact(o)) return object_text(o);
  return PySet_GET_SIZE(o) == 0 ? "set()" : listed_items("{", o, "}");
}

std::string object_text(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
      PyBytes_CheckExact(o) || PyComplex_CheckExact(o))
    return constant_repr(o);
  if (PyType_Check(o)) return "class " + class_name(reinterpret_cast<PyTypeObject*>(o));
  if (PyFunction_Check(o)) {
    const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyFunctionObject*>(o)->func_qualname);
    if (!name) clear_answer();
    return std::string("function ") + (name ? name : "?");
  }
  if (PyCode_Check(o)) {
    const auto* code = reinterpret_cast<PyCodeObject*>(o);
    return std::string("code of ") + utf8_of(code->co_qualname) + ", line " + std::to_string(code->co_firstlineno);
  }
  const std::string member = member_text(o);
  return member.empty() ? "a " + class_name(Py_TYPE(o)) + " object" : member;
}

std::string told_apart(std::string before, const std::string& now) {
  if (before != now) return before;
  return "another " + (before.starts_with("a ") ? before.substr(2) : before);
}

static std::string maxlen_text(Py_ssize_t n) { return n < 0 ? "None" : std::to_string(n); }

void compare_texts(const GuardRecord& r, PyObject* o, std::string& expected, std::string& actual) {
  const auto set = [&](std::string before, std::string now) {
    expected = told_apart(std::move(before), now), actual = std::move(now);
  };
  const auto contains = [&](const char* what, bool before) {
    const std::string item = what + constant_repr(r.object.get());
    set((before ? "with " : "without ") + item, (before ? "without " : "with ") + item);
  };
  switch (r.kind) {
    case GuardKind::EqualsMatch:
      if (has_comparable_state(r.object.get()) && has_comparable_state(o))
        return set(iterator_text(r.object.get()), iterator_text(o));
      return set(constant_repr(r.object.get()), is_plain(o) ? constant_repr(o) : object_text(o));
    case GuardKind::DataMatch:
      return set("data " + constant_repr(r.object.get()), object_text(o));
    case GuardKind::NoneMatch:
      return set("None", object_text(o));
    case GuardKind::TrueMatch:
      return set("True", object_text(o));
    case GuardKind::FalseMatch:
      return set("False", object_text(o));
    case GuardKind::TypeMatch:
      return set("class " + r.described, "class " + class_name(Py_TYPE(o)));
    case GuardKind::IdMatch:
      return set("another object", object_text(o));
    case GuardKind::NotPresent:
      return set("absent", object_text(o));
    case GuardKind::Nan:
      return set("nan", object_text(o));
    case GuardKind::DequeMaxlen:
      return set("maxlen " + maxlen_text(r.value), "maxlen " + maxlen_text(deque_maxlen(o)));
    case GuardKind::DictContains:
      return contains(r.value ? "attribute " : "key ", true);
    case GuardKind::DictNotContains:
      return contains(r.value ? "attribute " : "key ", false);
    case GuardKind::SetContains:
      return contains("", true);
    case GuardKind::SetNotContains:
      return contains("", false);
    case GuardKind::DictKeyOrder:
      return set("keys " + listed_items("[", r.object.get(), "]"),
                 PyDict_Check(o) ? "keys " + listed_items("[", checked(PyDict_Keys(o)).get(), "]") : object_text(o));
    case GuardKind::SetMatch:
      return set(set_items(r.object.get()), set_items(o));
    case GuardKind::SetOrder:
      return set("the order " + listed_items("[", r.object.get(), "]"),
                 PyAnySet_CheckExact(o) ? "the order " + listed_items("[", o, "]") : object_text(o));
    case GuardKind::Hasattr:
      return contains("attribute ", true);
    case GuardKind::NoHasattr:
      if (!guards::NoHasattr::on_dynamic_marks(r)) return contains("attribute ", false);
      return set("without marks", guards::DimensionMarks::marked_now(o, false));
    case GuardKind::DimensionMarks:
      return set(guards::DimensionMarks::marked(r.object.get(), r.value != 0),
                 guards::DimensionMarks::marked_now(o, r.value != 0));
    case GuardKind::LengthCheck:
    case GuardKind::DictLength:
      return set("length " + std::to_string(r.value), "length " + std::to_string(guards::LengthCheck::length(o)));
    default:
      return;
  }
}

// Of a guard that is printed and for which nothing is checked: why; else null.
static const char* why_unchecked(GuardKind kind) {
  return with_kind(kind, []<class K>() -> const char* {
    if constexpr (requires { K::unchecked; })
      return K::unchecked;
    else
      return nullptr;
  });
}

std::string with_place(const CompiledGuards& p, const GuardRecord& r, const std::string& text) {
  const char* why = why_unchecked(r.kind);
  if (r.where < 0 && !why) return text;
  std::string padded = text;
  if (padded.size() < kConditionWidth) padded.resize(kConditionWidth, ' ');
  if (why) return padded + "  # " + why;
  const UserFrame& f = p.places[static_cast<std::size_t>(r.where)];
  return padded + "  # " + f.line_text + "  # " + short_file(f.file) + ":" + std::to_string(f.line) + " in " +
         f.function;
}

static bool on_dynamic_marks(const GuardRecord& r) {
  return (r.kind == GuardKind::DimensionMarks && r.value == 0) ||
         (r.kind == GuardKind::NoHasattr && guards::NoHasattr::on_dynamic_marks(r));
}

std::vector<GuardRow> guard_rows(const CompiledGuards& p) {
  std::vector<GuardRow> rows;
  std::vector<int> row_of_tensor(p.nodes.size(), -1);
  for (const GuardRecord& r : p.records) {
    const std::string condition = condition_text(p, r);
    if (r.node < 0) {
      rows.push_back({"", "global", printed_name(r.kind), {}});
      if (!why_unchecked(r.kind)) rows.back().code = {condition};
      continue;
    }
    const GuardNode& node = p.nodes[static_cast<std::size_t>(r.node)];
    int& tensor_row = row_of_tensor[static_cast<std::size_t>(r.node)];
    // The reference counts the marks it looks for on a tensor as part of the tensor's guard, and only that is "code".
    if (on_dynamic_marks(r) && tensor_row >= 0) {
      rows[static_cast<std::size_t>(tensor_row)].code = {condition};
      continue;
    }
    if (r.kind == GuardKind::TensorMatch) tensor_row = static_cast<int>(rows.size());
    rows.push_back({node.name, node.global_rooted ? "global" : "local", printed_name(r.kind), {condition}});
  }
  return rows;
}

}  // namespace md
