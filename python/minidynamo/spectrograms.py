"""torch.stft and torch.istft: transforms of overlapping windows of a signal, and the signal from them again."""

from . import _C, fft
from ._absent import absent_names as _absent_names
from ._dynamo.eval_frame import is_compiling
from ._more_checks import fails_unless
from .nn.functional import pad


def _window_of(name, window, win_length, n_fft, like):
    """The window in the middle of n_fft places, of ones if none is given."""
    if window is not None and (window.dim() != 1 or window.shape[0] != win_length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    if window is None:
        window = like.new_ones((win_length,))
    before = (n_fft - win_length) // 2
    return _C.cat([window.new_zeros((before,)), window, window.new_zeros((n_fft - win_length - before,))])


def _check_lengths(name, n_fft, hop_length, win_length, longest):
    if n_fft <= 0 or (longest is not None and n_fft > longest):
        raise RuntimeError(f"{name}: expected 0 < n_fft < {longest}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if win_length <= 0 or win_length > n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")


def _padded(input, by, mode):
    """The signals with `by` places more at both ends."""
    if not input.is_complex():
        return pad(input.unsqueeze(0), (by, by), mode).squeeze(0)
    return _C.complex(_padded(input.real, by, mode), _padded(input.imag, by, mode))


@_C._overridable
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """Transforms of windows of n_fft places, hop_length apart: (..., frequencies, windows)."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    complex_values = input.is_complex() or (window is not None and window.is_complex())
    if not complex_values and return_complex is None:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, but got {input.dtype}")
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window should only be set when center = false")
    if input.dim() not in (1, 2):
        raise RuntimeError("stft: expected a 1D or 2D tensor")
    signals = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        signals = _padded(signals, n_fft // 2, pad_mode)
    _check_lengths("stft", n_fft, hop_length, win_length, signals.shape[-1])
    onesided = not complex_values if onesided is None else onesided
    if onesided and complex_values:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    weights = _window_of("stft", window, win_length, n_fft, signals)
    parts = signals.unfold(-1, n_fft, hop_length) * weights
    norm = "ortho" if normalized else None
    made = fft.rfft(parts, norm=norm) if onesided else fft.fft(parts, norm=norm)
    made = made.transpose(-2, -1)
    made = made if input.dim() == 2 else made.squeeze(0)
    return made if complex_values or return_complex else _C.view_as_real(made)


def _added_up(parts, hop_length):
    """Windows (batch, windows, places) added where they overlap."""
    batch, count, places = parts.shape
    at = _C.arange(count, device=parts.device).unsqueeze(1) * hop_length + _C.arange(places, device=parts.device)
    total = parts.new_zeros((batch, places + hop_length * (count - 1)))
    return total.index_add(1, at.reshape(-1), parts.reshape(batch, count * places))


@_C._overridable
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal whose stft() is nearest: windows added up, divided by the sum of the squares of their weights."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.numel() == 0:
        raise RuntimeError("istft: input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError("istft: expected a tensor with 2 or 3 dimensions")
    spectra = input if input.dim() == 3 else input.unsqueeze(0)
    have = spectra.shape[1]
    onesided = have != n_fft if onesided is None else onesided
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if have != wanted:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {have}"
        )
    _check_lengths("istft", n_fft, hop_length, win_length, None)
    weights = _window_of("istft", window, win_length, n_fft, spectra.real)
    norm = "ortho" if normalized else None
    parts = spectra.transpose(1, 2)
    if return_complex:
        parts = fft.ifft(parts, norm=norm)
    else:
        parts = fft.irfft(parts if onesided else parts[..., : n_fft // 2 + 1], n=n_fft, norm=norm)
    signal = _added_up(parts * weights, hop_length)
    squares = (weights * weights).expand(1, parts.shape[1], n_fft)
    envelope = _added_up(squares, hop_length)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else signal.shape[-1] - (n_fft // 2 if center else 0)
    inside = min(end, signal.shape[-1])
    signal, envelope = signal[:, start:inside], envelope[:, start:inside]
    if is_compiling():
        fails_unless((envelope.abs() >= 1e-11).all())
    elif bool((envelope.abs() < 1e-11).any()):
        raise RuntimeError("istft: the windows do not overlap everywhere: window overlap add min: 1")
    signal = signal / envelope
    if end > inside:
        signal = _C.cat([signal, signal.new_zeros((signal.shape[0], end - inside))], 1)
    return signal if input.dim() == 3 else signal.squeeze(0)


__getattr__ = _absent_names(__name__)
