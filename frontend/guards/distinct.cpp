// Objects compared by address: in pairs for few, in a table for many.
#include "frontend/guards/distinct.h"

#include <algorithm>

#include "frontend/cpython/internals.h"

namespace md::guards {
namespace {

// What can be changed by way of `o`: itself and the dictionary of its attributes.
constexpr std::size_t kPlaces = 2;

std::size_t places_of(PyObject* o, const void** out) {
  std::size_t n = 0;
  out[n++] = o;
  if (!PyType_Check(o) && (Py_TYPE(o)->tp_dictoffset != 0 || Py_TYPE(o)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
    if (PyObject* dict = md_instance_dict(o)) out[n++] = dict;
  }
  return n;
}

bool few_different(const AliasFact& f, PyObject* const* regs) {
  constexpr std::size_t kFew = 8;
  const void* seen[kFew * kPlaces];
  std::size_t n = 0;
  for (std::uint16_t r : f.registers) {
    const std::size_t more = places_of(regs[r], seen + n);
    for (std::size_t i = n; i < n + more; ++i)
      if (std::find(seen, seen + n, seen[i]) != seen + n) return false;
    n += more;
  }
  return true;
}

// An open-addressed table: linear in the number of objects.
bool many_different(const AliasFact& f, PyObject* const* regs) {
  std::size_t mask = 63;
  while (mask < 2 * kPlaces * f.registers.size()) mask = mask * 2 + 1;
  auto* table = static_cast<const void**>(__builtin_alloca((mask + 1) * sizeof(void*)));
  std::fill(table, table + mask + 1, nullptr);
  for (std::uint16_t r : f.registers) {
    const void* places[kPlaces];
    const std::size_t n = places_of(regs[r], places);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = (reinterpret_cast<std::uintptr_t>(places[i]) >> 4) * 0x9E3779B97F4A7C15ull >> 40 & mask;
      while (table[at] && table[at] != places[i]) at = (at + 1) & mask;
      if (table[at]) return false;
      table[at] = places[i];
    }
  }
  return true;
}

}  // namespace

bool Distinct::all_different(const AliasFact& f, PyObject* const* regs) {
  return f.registers.size() <= 8 ? few_different(f, regs) : many_different(f, regs);
}

}  // namespace md::guards
