// Texts and checks of dimension marks, and how guards on absent names print, by kind of source.
#include "frontend/guards/attributes.h"

namespace md::guards {

void DimensionMarks::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  NameFact* fact = b.name(checked(PyUnicode_FromString(attribute(g.value != 0))).get());
  fact->known = b.hold(keys_of_set(g.object.get()));
  op.name = fact;
}

bool DimensionMarks::are_known(const GuardOp& op, PyObject* tensor) {
  PyObject* marks = raw_attr(tensor, op.name->name, op.name->memo);
  return marks && PyAnySet_Check(marks) && set_within_keys(marks, op.name->known);
}

std::string DimensionMarks::marked(PyObject* dims, bool fixed) {
  if (PySet_GET_SIZE(dims) == 0) return "without marks";
  return std::string("marked ") + (fixed ? "static" : "dynamic") + " in " + set_text(dims);
}

std::string DimensionMarks::marked_now(PyObject* tensor, bool fixed) {
  const PyRef name = PyRef::steal(PyUnicode_InternFromString(attribute(fixed)));
  AttrMemo memo;
  PyObject* marks = name ? raw_attr(tensor, name.get(), memo) : nullptr;
  return marks && PyAnySet_Check(marks) ? marked(marks, fixed) : "marked otherwise";
}

std::string DimensionMarks::text(const GuardRecord& r, const std::string& s) {
  const std::string marks = std::string("'") + attribute(r.value != 0) + "'";
  if (PySet_GET_SIZE(r.object.get()) == 0) return "hasattr(" + s + ", " + marks + ") == False";
  return "((getattr(" + s + ", " + marks + ", set()).issubset(" + set_text(r.object.get()) + ")) if hasattr(" + s +
         ", " + marks + ") else True)";
}

std::string NotPresent::describe(const Source& s) {
  const std::string base = s.base ? s.base->name : "G";
  const std::string key = s.key ? constant_repr(s.key.get()) : std::string();
  switch (s.kind) {
    case SourceKind::Global:
      return "not ___dict_contains(" + key + ", G)";
    case SourceKind::Builtin:
      return "not ___dict_contains(" + key + ", G['__builtins_dict___0'])";
    case SourceKind::ModuleGlobal:
      return "not ___dict_contains(" + key + ", " + base + ".__globals__)";
    case SourceKind::DictItem:
      return "not ___dict_contains(" + key + ", " + base + ")";
    case SourceKind::InstanceDict:
      return "not ___dict_contains(" + key + ", " + base + ".__dict__)";
    case SourceKind::FuncKwDefault:
      return "not ___dict_contains(" + key + ", " + base + ".__kwdefaults__)";
    case SourceKind::Attr:
    case SourceKind::TensorAttr:
    case SourceKind::TypeAttr:
      return "not hasattr(" + base + ", " + key + ")";
    default:
      return "not present: " + s.name;
  }
}

}  // namespace md::guards
