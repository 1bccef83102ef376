// The rules and methods of this room, handed to those who look them up.
#include "frontend/builtins/families.h"

namespace md {

void init_rules() {
  for (std::span<const BuiltinRow> rows : builtin_families()) add_rules(rows);
  for (std::span<const MethodRow> rows : method_families()) add_methods(rows);
}

}  // namespace md
