// SPDX-License-Identifier: BSD-3-Clause
#ifndef FFT1D_H
#define FFT1D_H

#include "assasin_slot.h"

/// log2 of the points of a transform, and the points.
static const int FFT1D_LOG2 = 10;
static const int FFT1D_POINTS = 1 << FFT1D_LOG2;

/// The discrete Fourier transform (forward, not scaled) of each of `rows` rows of FFT1D_POINTS complex numbers: a beat
/// is a real and an imaginary part in IEEE 754 single precision. Rows that the input does not have, in full or in part,
/// are taken as zeros; input behind the last row is dropped. XSSD's 2D-FFT does its rows by such a transform.
void fft1d(hls::stream<beat_t> &rows_in, hls::stream<beat_t> &rows_out, ap_uint<32> rows);

#endif
