// Prints arguments as the reference's context strings do, and raises breaks for what has no handler.
#include "frontend/trace/breaks.h"

#include "frontend/cpython/object_text.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/constant_object.h"

namespace md {

std::string print_list(const std::vector<ValueRef>& values) {
  std::string out = "[";
  for (auto& v : values) out += (out.size() > 1 ? ", " : "") + v->print();
  return out + "]";
}

std::string print_keywords(const CallArgs& args) {
  std::string out = "{";
  for (auto& [name, v] : args.keywords)
    out += (out.size() > 1 ? ", '" : "'") + text_of(name.get()) + "': " + v->print();
  return out + "}";
}

void unmodelled(const std::string& self, const std::string& what) { not_modelled<GB0147_construct>(self, what); }

void unmodelled_method(const Value& self, const std::string& name, const CallArgs& args) {
  PyTypeObject* type = self.python_type();
  const bool is_looked_into =
      self.kind != ValueKind::Opaque && !(self.kind == ValueKind::Constant && type && is_library_value_type(type));
  if (!is_looked_into && type && is_c_type(type))  // only its C code knows
    graph_break<GB0156>(self.print(), std::string(type->tp_name), name, print_list(args.positional),
                        print_keywords(args));
  not_modelled<GB0156>(self.print(), std::string(type ? type->tp_name : "object"), name, print_list(args.positional),
                       print_keywords(args));
}

}  // namespace md
