// SPDX-License-Identifier: BSD-3-Clause
#include "XdmaModel.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace uncorebench {

void XdmaModel::write(uint32_t addr, const std::vector<uint8_t> &data) {
    response = 0;
    Transfer t;
    t.addr = addr;
    t.data = data;
    t.bytes = static_cast<unsigned>(data.size());
    t.direct = true;
    directWrites_.push_back(t);
}

void XdmaModel::read(uint32_t addr, unsigned bytes) {
    response = 0;
    Transfer t;
    t.addr = addr;
    t.bytes = bytes;
    t.direct = true;
    directReads_.push_back(t);
}

// Beats of the next burst from `addr`.
unsigned XdmaModel::burst(uint32_t addr, unsigned left) {
    const unsigned beats = (addr % 8 + left + 7) / 8;
    const unsigned page = (4096 - (addr & 4095) / 8 * 8) / 8;
    return std::min({beats, page, 1 + static_cast<unsigned>(rng_() % maxBeats)});
}

void XdmaModel::drive(uint64_t) {
    // A transfer to carry out.
    if (!writing_) {
        if (!directWrites_.empty()) {
            w_ = directWrites_.front();
            directWrites_.pop_front();
            writing_ = true;
        } else if (!h2c_.empty() && !stalled && !hesitates()) {
            w_ = {};
            w_.addr = static_cast<uint32_t>(h2c_.front().dst);
            w_.bytes = h2c_.front().len;
            w_.data.assign(at(h2c_.front().src), at(h2c_.front().src) + w_.bytes);
            writing_ = true;
        }
        awSent_ = inBurst_ = false;
    }
    if (!reading_) {
        if (!directReads_.empty()) {
            r_ = directReads_.front();
            directReads_.pop_front();
            reading_ = true;
        } else if (!c2h_.empty() && !stalled && !hesitates()) {
            r_ = {};
            r_.addr = static_cast<uint32_t>(c2h_.front().src);
            r_.bytes = c2h_.front().len;
            r_.host = c2h_.front().dst;
            reading_ = true;
        }
        arSent_ = false;
    }

    if (writing_ && !inBurst_ && w_.done < w_.bytes) {
        wBurst_ = burst(w_.addr + w_.done, w_.bytes - w_.done);
        wBeats_ = 0;
        awSent_ = false;
        inBurst_ = true;
    }
    top_.io_board_xdma_aw_valid = writing_ && inBurst_ && !awSent_;
    if (top_.io_board_xdma_aw_valid) {
        top_.io_board_xdma_aw_bits_addr = w_.addr + w_.done;
        top_.io_board_xdma_aw_bits_len = wBurst_ - 1;
        top_.io_board_xdma_aw_bits_id = 5;
        top_.io_board_xdma_aw_bits_size = 3;
        top_.io_board_xdma_aw_bits_burst = 1;
    }
    if (!top_.io_board_xdma_w_valid) {
        top_.io_board_xdma_w_valid = writing_ && inBurst_ && awSent_ && wBeats_ < wBurst_ && !hesitates();
    }
    if (top_.io_board_xdma_w_valid) {
        const uint32_t addr = w_.addr + w_.done;
        uint64_t data = 0;
        uint8_t strb = 0;
        for (unsigned i = addr % 8, k = 0; i < 8 && w_.done + k < w_.bytes; i++, k++) {
            data |= uint64_t(w_.data[w_.done + k]) << (8 * i);
            strb |= uint8_t(1u << i);
        }
        top_.io_board_xdma_w_bits_data = data;
        top_.io_board_xdma_w_bits_strb = strb;
        top_.io_board_xdma_w_bits_last = wBeats_ + 1 == wBurst_;
    }
    top_.io_board_xdma_b_ready = !hesitates();

    top_.io_board_xdma_ar_valid = reading_ && !arSent_;
    if (top_.io_board_xdma_ar_valid) {
        if (rBurst_ == 0) {
            rBurst_ = burst(r_.addr + r_.done, r_.bytes - r_.done);
        }
        top_.io_board_xdma_ar_bits_addr = r_.addr + r_.done;
        top_.io_board_xdma_ar_bits_len = rBurst_ - 1;
        top_.io_board_xdma_ar_bits_id = 9;
        top_.io_board_xdma_ar_bits_size = 3;
        top_.io_board_xdma_ar_bits_burst = 1;
    }
    top_.io_board_xdma_r_ready = !hesitates();

    top_.io_board_h2c_ready = h2c_.size() < 8 && !hesitates();
    top_.io_board_c2h_ready = c2h_.size() < 8 && !hesitates();
    top_.io_board_h2c_sts = stop ? 0 : h2cSts_;
    top_.io_board_c2h_sts = stop ? 0 : c2hSts_;
}

void XdmaModel::sample(uint64_t) {
    h2cSts_ = c2hSts_ = 0x40;
    if (top_.io_board_h2c_load && top_.io_board_h2c_ready) {
        h2c_.push_back({top_.io_board_h2c_srcAddr, top_.io_board_h2c_dstAddr, top_.io_board_h2c_len});
    }
    if (top_.io_board_c2h_load && top_.io_board_c2h_ready) {
        c2h_.push_back({top_.io_board_c2h_srcAddr, top_.io_board_c2h_dstAddr, top_.io_board_c2h_len});
    }

    if (top_.io_board_xdma_aw_valid && top_.io_board_xdma_aw_ready) {
        awSent_ = true;
    }
    if (top_.io_board_xdma_w_valid && top_.io_board_xdma_w_ready) {
        w_.done += std::min(8 - (w_.addr + w_.done) % 8, w_.bytes - w_.done);
        wBeats_++;
        taken_.push_back(&top_.io_board_xdma_w_valid);
    }
    if (top_.io_board_xdma_b_valid && top_.io_board_xdma_b_ready) {
        if (!inBurst_ || wBeats_ != wBurst_ || top_.io_board_xdma_b_bits_id != 5) {
            throw std::runtime_error("AXI slave: response without its burst");
        }
        response = std::max<uint8_t>(response, top_.io_board_xdma_b_bits_resp);
        inBurst_ = false;
        if (w_.done == w_.bytes) {
            writing_ = false;
            if (!w_.direct) {
                h2c_.pop_front();
                h2cSts_ = 0x48;
                h2cCount++;
            }
        }
    }

    if (top_.io_board_xdma_ar_valid && top_.io_board_xdma_ar_ready) {
        arSent_ = true;
        rBeats_ = 0;
    }
    if (top_.io_board_xdma_r_valid && top_.io_board_xdma_r_ready) {
        if (!arSent_ || top_.io_board_xdma_r_bits_id != 9) {
            throw std::runtime_error("AXI slave: data nobody asked for");
        }
        response = std::max<uint8_t>(response, top_.io_board_xdma_r_bits_resp);
        const uint64_t data = top_.io_board_xdma_r_bits_data;
        for (unsigned i = (r_.addr + r_.done) % 8; i < 8 && r_.done < r_.bytes; i++) {
            r_.data.push_back(static_cast<uint8_t>(data >> (8 * i)));
            r_.done++;
        }
        rBeats_++;
        if ((rBeats_ == rBurst_) != (top_.io_board_xdma_r_bits_last != 0)) {
            throw std::runtime_error("AXI slave: RLAST in the wrong beat");
        }
        if (rBeats_ == rBurst_) {
            arSent_ = false;
            rBurst_ = 0;
            if (r_.done == r_.bytes) {
                reading_ = false;
                if (r_.direct) {
                    readData = r_.data;
                } else {
                    std::copy(r_.data.begin(), r_.data.end(), at(r_.host));
                    c2h_.pop_front();
                    c2hSts_ = 0x48;
                    c2hCount++;
                }
            }
        }
    }
}

} // namespace uncorebench
