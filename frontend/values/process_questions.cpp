// Which functions ask the process for settings, devices, memory: the registry has a code for their answers.
#include "frontend/values/process_questions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "frontend/cpython/object_text.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {

struct ProcessQuestions {
  const char *module, *answer;
  std::string_view names;  // each between spaces
};

constexpr ProcessQuestions kProcessQuestions[] = {
    {"minidynamo.cpu", "int", " current_device device_count "},
    {"minidynamo.cpu", "bool", " is_available "},
    {"minidynamo.cpu", "dict", " get_capabilities "},
    {"minidynamo.cpu", "Stream", " current_stream stream "},
    {"minidynamo._determinism", "int", " get_deterministic_debug_mode "},
    {"minidynamo._determinism", "bool", " is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "},
    {"minidynamo.backends._matmul", "str", " get_float32_matmul_precision "},
    {"minidynamo.processor_settings", "int", " get_num_interop_threads "},
    {"minidynamo.amp.older_names", "dtype", " get_autocast_cpu_dtype "},
    {"minidynamo.random", "int", " fork_rng "},
    {"minidynamo.backends.cuda", "bool",
     " cudnn_sdp_enabled flash_sdp_enabled fp16_bf16_reduction_math_sdp_allowed is_built math_sdp_enabled"
     " mem_efficient_sdp_enabled sdp_kernel "},
    {"minidynamo.backends.mkl", "bool", " is_available "},
    {"minidynamo.backends.openmp", "bool", " is_available "},
    {"minidynamo.accelerator", "int", " device_count "},
    {"minidynamo.cuda", "int", " device_count "},
    {"minidynamo.cuda", "str", " get_gencode_flags "},
    {"minidynamo.cuda", "bool", " is_bf16_supported "},
    {"minidynamo.cuda.memory", "int",
     " max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached memory_reserved "},
    {"minidynamo.cuda.memory", "OrderedDict", " host_memory_stats memory_stats "},
    {"minidynamo.cuda.memory", "dict", " host_memory_stats_as_nested_dict memory_stats_as_nested_dict "},
    {"minidynamo.storage", "bool", " is_storage "},
    {"minidynamo._tensor_methods", "TypedStorage", " Tensor.storage "},
};

}  // namespace

void break_on_process_question(Tracer& t, const FunctionValue& f) {
  const std::string_view module = f.module_name();
  if (!module.starts_with("minidynamo.") || t.config.trace_more || is_in_library(t)) return;
  const std::string name = text_of(f.qualname.get()), spaced = " " + name + " ";
  for (const ProcessQuestions& q : kProcessQuestions)
    if (module == q.module && q.names.find(spaced) != std::string_view::npos)
      listed_break<GB0208>(std::string(q.answer), std::string("call_function"), name);
}

}  // namespace md
