"""Programs with conjugates and negatives over the memory of other tensors. What `record()` gave with PyTorch 2.13 in
the place of this package is in lazy_views.json.
"""

import minidynamo as torch

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def numbers():
    return torch.tensor([[1 + 2j, 3 - 4j], [5 + 6j, -7 - 8j]])


def shown(v):
    if isinstance(v, torch.Tensor):
        flags = "C" * v.is_conj() + "N" * v.is_neg()
        return [
            flags,
            str(v.dtype).rpartition(".")[2],
            list(v.stride()),
            shown(v.resolve_conj().resolve_neg().tolist()),
        ]
    if isinstance(v, (list, tuple)):
        return [shown(each) for each in v]
    return [round(v.real, 3) + 0.0, round(v.imag, 3) + 0.0] if isinstance(v, complex) else round(v, 3) + 0.0


def tensors_in(v):
    if isinstance(v, (list, tuple)):
        return [t for each in v for t in tensors_in(each)]
    return [v] if isinstance(v, torch.Tensor) else []


def gradient(f):
    z = numbers().requires_grad_()
    made = [t for t in tensors_in(f(z * 1)) if t.requires_grad]
    if not made:
        return None
    sum(((t * t.conj()).real * (i + 1)).sum() for i, t in enumerate(made)).backward()
    return shown(z.grad)


def record(f):
    z = numbers()
    return {"result": shown(f(z)), "operand": shown(z), "gradient": gradient(f)}


@program
def conj(z):
    return z.conj()


@program
def conj_times(z):
    return z.conj() * 2


@program
def write_through(z):
    c = z.conj()
    c.mul_(2)
    return z


@program
def write_to_base(z):
    c = z.conj()
    z.mul_(1j)
    return c + 0


@program
def base_then_view(z):
    c = z.conj()
    z.add_(1j)
    return c


@program
def write_imag_of_conj(z):
    z.conj().imag.add_(1)
    return z.imag, z.real


@program
def write_mH(z):
    z.mH[0] = 7j
    return z


@program
def writes_in_graph(z):
    y = z * 2
    c = y.conj()
    c[0, 1] = 1 + 1j
    c.T[0] = 0
    return y, c


@program
def copy_into_negative(z):
    y = z * 2
    i = y.conj().imag
    i.copy_(torch.ones(2, 2))
    return y, i, i.is_contiguous()


@program
def adjoints(z):
    return z.mH @ z, z.H, z.adjoint().real, z.adjoint().imag


@program
def twice(z):
    c = z.conj()
    d = c.conj()
    d.zero_()
    return c, d


@program
def resolved_parts(z):
    return torch.view_as_real(z.conj().resolve_conj()), torch.view_as_real(z.conj().clone())


@program
def flat_part(z):
    y = z + 0
    y.conj().view(4)[1:3].fill_(9j)
    return y


@program
def real_of_conj(z):
    y = z + 0
    r = y.conj().real
    r.neg_()
    return y, r


@program
def in_loop(z):
    out = []
    for i in range(2):
        z.conj()[i].mul_(i + 2)
        out.append(z.conj()[i].sum())
    return out


@program
def negative_operands(z):
    return z.conj().imag.abs().sum(), z.conj().angle(), z.conj().abs()


@program
def joined(z):
    return torch.where(z.real > 0, z.conj(), z), torch.cat([z, z.conj()]), torch.stack([z.conj().imag, z.real])


@program
def clamped_negative(z):
    c = z.conj().imag
    c.clamp_(min=0)
    return z


@program
def added_base(z):
    c = z.conj()
    c += z
    return z, c


@program
def copied(z):
    w = z.clone()
    w.copy_(z.conj())
    return w, w.conj().detach(), w.detach().conj()


@program
def products(z):
    return (
        (z.conj() @ z).sum().real,
        torch.einsum("ij,jk->ik", z.conj(), z),
        torch.vdot(z[0], z[1]),
        z.conj().sum(0).imag,
    )


@program
def both_parts(z):
    y = z * 1
    y.conj().real.fill_(3)
    y.conj().imag[1] = 4
    return y


@program
def converted(z):
    return (
        z.conj().to(torch.complex128),
        z.conj().imag.double(),
        z.conj().reshape(-1),
        z.conj().T.reshape(-1),
        z.conj().contiguous(),
    )


@program
def transforms(z):
    return torch.fft.fft(z.conj()), torch.linalg.solve(z.mH, z)


@program
def pieces(z):
    return z.conj().chunk(2), z.mH.split(1), z.conj().unbind(1)
