#include "frontend/guards/attributes.h"

namespace md::guards {

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
