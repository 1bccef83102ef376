// Objects of Python that are looked up or made once and kept for the life of the process.
#pragma once

#include <type_traits>

namespace md {

// What `make` gives the first time; with the GIL held. Each lambda has its own. A static with an initialiser would not
// do where Python code may run: it can let go of the GIL, and a thread that gets it then waits, holding it, for the
// thread that initialises, which waits for the GIL. Here both make one, and the first that is done is kept.
template <class Make>
std::invoke_result_t<Make> made_once(Make make) {
  using Made = std::invoke_result_t<Make>;
  static_assert(std::is_trivially_copyable_v<Made>, "nothing is to be destroyed at exit");
  static Made known{};
  static bool made = false;
  if (!made) [[unlikely]] {
    const Made mine = make();
    if (!made) {
      known = mine;
      made = true;
    }
  }
  return known;
}

}  // namespace md
