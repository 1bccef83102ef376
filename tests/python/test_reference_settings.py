"""Settings of torch's code generator: set, patched, nested, refused by name; options of torch.compile go by them."""

import threading

import pytest

import minidynamo as torch


def test_values_are_kept():
    config = torch._inductor.config
    assert config.max_autotune is False and config.triton.cudagraphs is False and config.cpp.simdlen is None
    with config.patch(max_autotune=True), config.patch({"triton.cudagraphs": True}), config.patch("freezing", True):
        assert config.max_autotune and config.triton.cudagraphs and config.freezing
        config.max_autotune = 5
        assert config.max_autotune == 5
        seen = []
        thread = threading.Thread(target=lambda: seen.append(config.max_autotune))
        thread.start()
        thread.join()
        assert seen == [False]
    assert not config.max_autotune and not config.triton.cudagraphs and not config.freezing

    @config.patch(epilogue_fusion=False)
    def inside():
        return config.epilogue_fusion

    assert inside() is False and config.epilogue_fusion is True
    config.triton.unique_kernel_names = False
    assert not config.is_default("triton.unique_kernel_names")
    assert config.codegen_config() == "torch._inductor.config.triton.unique_kernel_names = False"
    saved = config.save_config()
    del config.triton.unique_kernel_names
    assert config.triton.unique_kernel_names is True
    config.load_config(saved)
    assert config.triton.unique_kernel_names is False
    del config.triton.unique_kernel_names
    assert config.codegen_config() == "" and "fallback_random" in config.to_dict()


def test_lists_are_not_shared_with_the_defaults():
    config = torch._inductor.config
    config.disabled_passes = "x"
    del config.disabled_passes
    names = [name for name, value in config.to_dict().items() if isinstance(value, list)]
    getattr(config, names[0]).append("x")
    assert not config.is_default(names[0])
    delattr(config, names[0])
    assert config.is_default(names[0])


def test_other_modules():
    import minidynamo._functorch.config as functorch_config
    import minidynamo.fx.experimental._config as shapes_config

    with functorch_config.patch(activation_memory_budget=0.5):
        assert torch._functorch.config.activation_memory_budget == 0.5
    with shapes_config.patch(use_duck_shape=False):
        assert not shapes_config.use_duck_shape
    assert shapes_config.use_duck_shape


def test_unknown_names_are_refused():
    for config in (torch._inductor.config, torch._functorch.config):
        with pytest.raises(AttributeError, match="nonsense does not exist"):
            config.nonsense = 1
        with pytest.raises(AttributeError, match="nonsense does not exist"):
            config.patch(nonsense=1)
        with pytest.raises(AttributeError):
            config.nonsense  # noqa: B018
        with pytest.raises(TypeError):
            config.patch()
    with pytest.raises(AttributeError, match="triton.nonsense does not exist"):
        torch._inductor.config.triton.nonsense = 1


def test_options_of_compile():
    x = torch.ones(3)
    options = {"max_autotune": True, "triton.cudagraphs": True, "epilogue-fusion": False}
    assert torch.compile(lambda x: x + 1, options=options)(x).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="Unexpected optimization option nonsense"):
        torch.compile(lambda x: x, options={"nonsense": 1})
    with pytest.raises(RuntimeError, match="got float should be bool"):
        torch.compile(lambda x: x, options={"max_autotune": 1.5})
    assert "max_autotune" in torch._inductor.list_options()
    assert torch._inductor.list_mode_options("reduce-overhead") == {"triton.cudagraphs": True}
    assert torch._inductor.list_mode_options()["default"] == {}


def test_compiled_code_reads_them():
    @torch.compile
    def f(x):
        return x + 1 if torch._inductor.config.max_autotune else x - 1

    assert f(torch.ones(1)).item() == 0
    with torch._inductor.config.patch(max_autotune=True):
        assert f(torch.ones(1)).item() == 2
