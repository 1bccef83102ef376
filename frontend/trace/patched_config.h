// What a trace within patch_dynamo_config(...) has changed of its configuration.
#pragma once

#include "frontend/trace/trace_config.h"

namespace md {

struct PatchedConfig {
  TraceConfig* config = nullptr;
  bool capture_scalar_outputs = false;  // as it was

  void set_capture(const TraceConfig& of, bool on) {
    if (!config) *this = {const_cast<TraceConfig*>(&of), of.capture_scalar_outputs};
    config->capture_scalar_outputs = on || of.fullgraph;
  }
  void put_back() {
    if (config) config->capture_scalar_outputs = capture_scalar_outputs;
    config = nullptr;
  }
};
inline thread_local constinit PatchedConfig patched_config;

}  // namespace md
