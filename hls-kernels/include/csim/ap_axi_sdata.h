// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AXI4-Stream beats with side channels for C simulation: the part of the interface that UG1399 ("Customizing
/// AXI4-Stream Interfaces") describes and that kernels here use. Vitis HLS brings its own file of this name.
#ifndef ASSASIN_CSIM_AP_AXI_SDATA_H
#define ASSASIN_CSIM_AP_AXI_SDATA_H

#include "ap_int.h"
#include <cstddef>

namespace hls {

namespace axis_detail {

/// A side channel of WIDTH bits; one without bits is no member that could be used.
template <std::size_t WIDTH> struct channel { typedef ap_uint<int(WIDTH)> type; };
template <> struct channel<0> {
    typedef struct {
    } type;
};

template <typename T> struct bits { static const std::size_t value = 8 * sizeof(T); };
template <int WIDTH> struct bits<ap_uint<WIDTH>> { static const std::size_t value = WIDTH; };
template <int WIDTH> struct bits<ap_int<WIDTH>> { static const std::size_t value = WIDTH; };

} // namespace axis_detail

/// One transfer of a stream.
template <typename T, std::size_t WUSER = 0, std::size_t WID = 0, std::size_t WDEST = 0> struct axis {
    static const std::size_t BYTES = (axis_detail::bits<T>::value + 7) / 8;

    T data;
    ap_uint<int(BYTES)> keep;
    ap_uint<int(BYTES)> strb;
    typename axis_detail::channel<WUSER>::type user;
    ap_uint<1> last;
    typename axis_detail::channel<WID>::type id;
    typename axis_detail::channel<WDEST>::type dest;
};

} // namespace hls

template <int WDATA, std::size_t WUSER, std::size_t WID, std::size_t WDEST>
using ap_axiu = hls::axis<ap_uint<WDATA>, WUSER, WID, WDEST>;

template <int WDATA, std::size_t WUSER, std::size_t WID, std::size_t WDEST>
using ap_axis = hls::axis<ap_int<WDATA>, WUSER, WID, WDEST>;

#endif
