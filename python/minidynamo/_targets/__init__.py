"""Programs for other processors than this one: what graphs would be on a GPU, shown, written to files and assembled."""

PTX = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
AMDGPU = ("gfx90a", "gfx1100")
TARGETS = (*PTX, *AMDGPU)


def refusal(name):
    """Why there is no target of that name, or None."""
    if isinstance(name, str) and name in TARGETS:
        return None
    return f"there is no target {name!r:.100}; there are {', '.join(TARGETS)}"


def check_target(name):
    """RuntimeError for a target that there is not."""
    reason = refusal(name)
    if reason is not None:
        raise RuntimeError(f"Unexpected target: {reason}")


def is_ptx(name):
    """Whether programs for it are texts of PTX; else they are code objects for GPUs of AMD."""
    return name in PTX
