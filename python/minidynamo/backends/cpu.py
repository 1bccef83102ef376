"""torch.backends.cpu: which instructions the CPU has."""

from .._absent import absent_names as _absent_names


def get_cpu_capability():
    """'AVX512', 'AVX2' or 'DEFAULT' (neither), as the system reports the CPU's instructions."""
    from ..cpu import get_capabilities

    has = get_capabilities()
    if has.get("avx512_f") and has.get("avx512_vl") and has.get("avx512_bw") and has.get("avx512_dq"):
        return "AVX512"
    if has.get("avx2") and has.get("fma3"):
        return "AVX2"
    return "DEFAULT"


__getattr__ = _absent_names(__name__)
