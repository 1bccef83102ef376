// How a function of the driver's API is entered: counted, refused where the driver, the process or the context is in
// no state for it, and left out of the library where the settings say that this driver has no such function.
#pragma once

#include <string_view>
#include <type_traits>

#include "api.h"

namespace emulated {

// Thrown by what the API's functions call; becomes what they return.
struct Failure {
  CUresult code;
};

inline void check(bool good, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  if (!good) throw Failure{code};
}

// What a function needs before it does anything.
enum class Needs {
  Nothing,
  Driver,         // cuInit was called, in this process
  Context,        // one is current, lives, and nothing has gone wrong in it
  BrokenContext,  // one is current and lives
};

// Is the null stream that of the thread, for the call being made? So in functions whose names end in _ptsz or _ptds.
extern thread_local bool null_stream_is_per_thread;

CUresult enter(const char* function, Needs needs, CUresult (*does)(void*), void* with);

template <auto does, const char* name, Needs needs, bool per_thread>
struct Exported;

template <class... P, CUresult (*does)(P...), const char* name, Needs needs, bool per_thread>
struct Exported<does, name, needs, per_thread> {
  static CUresult call(P... parameters) {
    null_stream_is_per_thread = per_thread;
    const auto bound = [&] { return does(parameters...); };
    const auto calls = [](void* with) { return (*static_cast<decltype(bound)*>(with))(); };
    return enter(name, needs, calls, const_cast<void*>(static_cast<const void*>(&bound)));
  }
};

bool is_offered(std::string_view function);

}  // namespace emulated

// Defines and exports a function of the API; dlsym finds none where the driver is to lack it.
#define EMULATED_EXPORT(NAME, BODY, NEEDS, PER_THREAD, ...)                                                        \
  namespace emulated {                                                                                             \
  static constexpr char NAME##_name[] = #NAME;                                                                     \
  }                                                                                                                \
  extern "C" {                                                                                                     \
  __attribute__((used)) static CUresult (*NAME##_choice())(__VA_ARGS__) {                                          \
    using Chosen = emulated::Exported<&emulated::BODY, emulated::NAME##_name, emulated::Needs::NEEDS, PER_THREAD>; \
    return emulated::is_offered(#NAME) ? &Chosen::call : nullptr;                                                  \
  }                                                                                                                \
  __attribute__((visibility("default"), ifunc(#NAME "_choice"))) CUresult NAME(__VA_ARGS__);                       \
  }

#define EMULATED_API(NAME, NEEDS, ...)                          \
  namespace emulated {                                          \
  static CUresult NAME##_does(__VA_ARGS__);                     \
  }                                                             \
  EMULATED_EXPORT(NAME, NAME##_does, NEEDS, false, __VA_ARGS__) \
  CUresult emulated::NAME##_does(__VA_ARGS__)

// The same with a second function, of which the null stream is that of the thread.
#define EMULATED_STREAM_API(NAME, SUFFIX, NEEDS, ...)                  \
  namespace emulated {                                                 \
  static CUresult NAME##_does(__VA_ARGS__);                            \
  }                                                                    \
  EMULATED_EXPORT(NAME, NAME##_does, NEEDS, false, __VA_ARGS__)        \
  EMULATED_EXPORT(NAME##SUFFIX, NAME##_does, NEEDS, true, __VA_ARGS__) \
  CUresult emulated::NAME##_does(__VA_ARGS__)
