// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AXI4-Stream beats with side channels for C simulation: the part of the interface that UG1399 ("Customizing
/// AXI4-Stream Interfaces") describes and that kernels here use. Vitis HLS brings its own file of this name.
#ifndef ASSASIN_CSIM_AP_AXI_SDATA_H
#define ASSASIN_CSIM_AP_AXI_SDATA_H

#include "ap_int.h"
#include <cstddef>
#include <cstdint>

#define AXIS_ENABLE_DATA 0x01
#define AXIS_ENABLE_DEST 0x02
#define AXIS_ENABLE_ID   0x04
#define AXIS_ENABLE_KEEP 0x08
#define AXIS_ENABLE_LAST 0x10
#define AXIS_ENABLE_STRB 0x20
#define AXIS_ENABLE_USER 0x40
#define AXIS_ENABLE_ALL  0x7f

namespace hls {

namespace axis_detail {

/// A side channel of WIDTH bits; one without bits, or that is not enabled, is no member that could be used.
template <bool ENABLED, std::size_t WIDTH> struct channel {
    typedef ap_uint<int(WIDTH)> type;
};
struct absent {};
template <std::size_t WIDTH> struct channel<false, WIDTH> {
    typedef absent type;
};

template <typename T> struct bits {
    static const std::size_t value = 8 * sizeof(T);
};
template <int WIDTH> struct bits<ap_uint<WIDTH>> {
    static const std::size_t value = WIDTH;
};
template <int WIDTH> struct bits<ap_int<WIDTH>> {
    static const std::size_t value = WIDTH;
};

} // namespace axis_detail

/// One transfer of a stream. With STRICT, signals that are not in ENABLED cannot be used; without it they can but have
/// no port, except `last` and `keep`.
template <typename T, std::size_t WUSER = 0, std::size_t WID = 0, std::size_t WDEST = 0,
          uint8_t ENABLED = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB), bool STRICT = false>
struct axis {
    static const std::size_t BYTES = (axis_detail::bits<T>::value + 7) / 8;

    T data;
    typename axis_detail::channel<!STRICT || (ENABLED & AXIS_ENABLE_KEEP) != 0, BYTES>::type keep;
    typename axis_detail::channel<!STRICT || (ENABLED & AXIS_ENABLE_STRB) != 0, BYTES>::type strb;
    typename axis_detail::channel<WUSER != 0, WUSER>::type user;
    typename axis_detail::channel<!STRICT || (ENABLED & AXIS_ENABLE_LAST) != 0, 1>::type last;
    typename axis_detail::channel<WID != 0, WID>::type id;
    typename axis_detail::channel<WDEST != 0, WDEST>::type dest;
};

} // namespace hls

template <int WDATA, std::size_t WUSER, std::size_t WID, std::size_t WDEST,
          uint8_t ENABLED = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB), bool STRICT = false>
using ap_axiu = hls::axis<ap_uint<WDATA>, WUSER, WID, WDEST, ENABLED, STRICT>;

template <int WDATA, std::size_t WUSER, std::size_t WID, std::size_t WDEST,
          uint8_t ENABLED = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB), bool STRICT = false>
using ap_axis = hls::axis<ap_int<WDATA>, WUSER, WID, WDEST, ENABLED, STRICT>;

#endif
