"""What can be logged: components (a logger with a level) and artifacts (one kind of output, on or off)."""

import logging

# Component -> loggers it sets. Components of parts that do not exist here are accepted so that settings written for
# torch work; they stay silent.
COMPONENTS = {
    "dynamo": ("minidynamo._dynamo",),
    "aot": ("minidynamo._functorch.aot_autograd",),
    "inductor": ("minidynamo._inductor",),
    "autograd": ("minidynamo.autograd",),
    "dynamic": ("minidynamo.fx.experimental.symbolic_shapes",),
    "torch": ("minidynamo",),
    "distributed": ("minidynamo.distributed",),
    "c10d": ("minidynamo.distributed.distributed_c10d",),
    "ddp": ("minidynamo.nn.parallel.distributed",),
    "pp": ("minidynamo.distributed.pipelining",),
    "fsdp": ("minidynamo.distributed.fsdp",),
    "dtensor": ("minidynamo.distributed.tensor",),
    "onnx": ("minidynamo.onnx",),
    "export": ("minidynamo._dynamo", "minidynamo.export"),
    "fake_tensor": ("minidynamo._subclasses.fake_tensor",),
}

# Artifact -> the component whose DEBUG level switches it on as well, None for those that must be named.
ARTIFACTS = {
    "graph_breaks": "dynamo",
    "graph_code": "dynamo",
    "guards": "dynamo",
    "recompiles": "dynamo",
    "bytecode": None,
    "trace_source": "dynamo",
    "trace_call": "dynamo",
    "trace_bytecode": "dynamo",
    "trace_shape_events": None,
    "recompiles_verbose": None,
    "verbose_guards": None,
    "graph": None,
    "graph_sizes": None,
    "graph_code_verbose": None,
    "graph_region_expansion": None,
    "aot_graphs": "aot",
    "aot_graphs_effects": None,
    "aot_joint_graph": "aot",
    "autotuning": None,
    "benchmarking": None,
    "cache": None,
    "compiled_autograd": None,
    "compiled_autograd_verbose": None,
    "cudagraphs": None,
    "cudagraph_static_inputs": None,
    "ddp_graphs": None,
    "fusion": None,
    "hierarchical_compile": None,
    "inductor_metrics": None,
    "ir_pre_fusion": None,
    "ir_post_fusion": None,
    "kernel_code": None,
    "loop_ordering": None,
    "not_implemented": None,
    "onnx_diagnostics": None,
    "output_code": None,
    "overlap": None,
    "perf_hints": None,
    "post_grad_graphs": None,
    "pre_grad_graphs": None,
    "schedule": None,
    "sym_node": None,
}

# Bits of `_logging._enabled_mask`, which native code tests before it makes any text. Fixed: C++ has the same numbers.
BITS = {
    "graph_breaks": 1 << 0,
    "graph_code": 1 << 1,
    "guards": 1 << 2,
    "recompiles": 1 << 3,
    "bytecode": 1 << 4,
    "trace_source": 1 << 5,
    "trace_call": 1 << 6,
    "trace_bytecode": 1 << 7,
    "recompiles_verbose": 1 << 8,
    "graph": 1 << 9,
    "graph_sizes": 1 << 10,
    "output_code": 1 << 11,
    "dynamo_info": 1 << 12,
    "dynamo_debug": 1 << 13,
    "aot_graphs": 1 << 14,
    "perf_hints": 1 << 15,
    "dynamic_info": 1 << 16,
    "fusion": 1 << 17,
}

LEVELS = {"+": logging.DEBUG, "-": logging.ERROR, "": logging.INFO}


def artifact_logger_name(artifact):
    return f"minidynamo.__{artifact}"
