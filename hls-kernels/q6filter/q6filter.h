// SPDX-License-Identifier: BSD-3-Clause
#ifndef Q6FILTER_H
#define Q6FILTER_H

#include "assasin_slot.h"

/// TPC-H Q6's predicate over lineitem tuples of 32 bytes (struct lineitem_tuple of firmware/offload/include/offloads.h,
/// as the offload `filter` takes them). Result: price and discount, 32 bits each, of every tuple with shipdate_from <=
/// shipdate < shipdate_to, discount_low <= discount <= discount_high, quantity < quantity_to. A tuple that is cut off
/// is ignored.
void q6filter(hls::stream<beat_t> &tuples_in, hls::stream<beat_t> &rows_out, ap_int<32> shipdate_from,
              ap_int<32> shipdate_to, ap_int<32> discount_low, ap_int<32> discount_high, ap_int<32> quantity_to);

#endif
