"""Rows for Fourier transforms."""

from optable import Row, T


def C(*shape):
    return T(*shape, dtype="complex")


ROWS = [
    Row("fft.fft", C(3, 5)),
    Row("fft.fft", T(4, dtype="int")),
    Row("fft.ifft", C(3, 5)),
    Row("fft.ifft", T(3, 4), n=6, norm="ortho"),
    Row("fft.rfft", T(3, 5)),
    Row("fft.irfft", C(3, 4)),
    Row("fft.hfft", C(4)),
    Row("fft.ihfft", T(6)),
    Row("fft.fft2", C(2, 3, 4)),
    Row("fft.fft2", T(3, 4), s=(2, 5)),
    Row("fft.ifft2", C(3, 4), norm="ortho"),
    Row("fft.fftn", C(2, 3, 2)),
    Row("fft.ifftn", C(2, 3, 2), s=(2, 4)),
    Row("fft.rfft2", T(3, 4)),
    Row("fft.irfft2", C(3, 4)),
    Row("fft.rfftn", T(2, 3, 4)),
    Row("fft.irfftn", C(2, 3, 4)),
    Row("fft.hfftn", C(2, 3)),
    Row("fft.hfft2", C(2, 3), s=(2, 5), norm="ortho"),
    Row("fft.ihfftn", T(2, 4)),
    Row("fft.ihfft2", T(2, 4), norm="forward"),
    Row("fft.fftshift", T(3, 4)),
    Row("fft.fftshift", T(5), dim=0),
    Row("fft.ifftshift", T(3, 4)),
    Row("fft.fftfreq", 5),
    Row("fft.rfftfreq", 5),
    Row("stft", T(30), 8, hop_length=3, window=T(8, kind="positive"), return_complex=True),
]
