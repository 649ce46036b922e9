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
unsigned XdmaModel::burst(uint32_t addr, unsigned left, unsigned width) {
    const unsigned beats = (addr % width + left + width - 1) / width;
    const unsigned page = (4096 - (addr & 4095) / width * width) / width;
    return std::min({beats, page, exact != 0 ? exact : 1 + static_cast<unsigned>(rng_() % maxBeats)});
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
    }

    if (writing_ && !inBurst_ && w_.done < w_.bytes && wAnswers_ < MAX_BURSTS) {
        wBurst_ = burst(w_.addr + w_.done, w_.bytes - w_.done, width(w_));
        wBeats_ = 0;
        awSent_ = false;
        inBurst_ = true;
    }
    top_.io_board_xdma_aw_valid = writing_ && inBurst_ && !awSent_;
    if (top_.io_board_xdma_aw_valid) {
        top_.io_board_xdma_aw_bits_addr = w_.addr + w_.done;
        top_.io_board_xdma_aw_bits_len = wBurst_ - 1;
        top_.io_board_xdma_aw_bits_id = 5;
        top_.io_board_xdma_aw_bits_size = w_.direct ? size : 3;
        top_.io_board_xdma_aw_bits_burst = w_.direct ? burstType : 1;
    }
    if (!top_.io_board_xdma_w_valid) {
        top_.io_board_xdma_w_valid =
            writing_ && inBurst_ && awSent_ && wBeats_ < wBurst_ && !holdW && wPause_.over() && !hesitates();
    }
    if (top_.io_board_xdma_w_valid) {
        const uint32_t addr = w_.addr + w_.done;
        uint64_t data = 0;
        uint8_t strb = 0;
        const unsigned end = addr % 8 / width(w_) * width(w_) + width(w_);
        for (unsigned i = addr % 8, k = 0; i < end && w_.done + k < w_.bytes; i++, k++) {
            data |= uint64_t(w_.data[w_.done + k]) << (8 * i);
            strb |= uint8_t(1u << i);
        }
        top_.io_board_xdma_w_bits_data = data;
        top_.io_board_xdma_w_bits_strb = strb;
        top_.io_board_xdma_w_bits_last = wBeats_ + 1 == wBurst_;
    }
    top_.io_board_xdma_b_ready = !holdB && bPause_.over() && !hesitates();

    top_.io_board_xdma_ar_valid = reading_ && r_.asked < r_.bytes && rBursts_.size() < MAX_BURSTS;
    if (top_.io_board_xdma_ar_valid) {
        if (arBeats_ == 0) {
            arBeats_ = burst(r_.addr + r_.asked, r_.bytes - r_.asked, width(r_));
        }
        top_.io_board_xdma_ar_bits_addr = r_.addr + r_.asked;
        top_.io_board_xdma_ar_bits_len = arBeats_ - 1;
        top_.io_board_xdma_ar_bits_id = 9;
        top_.io_board_xdma_ar_bits_size = r_.direct ? size : 3;
        top_.io_board_xdma_ar_bits_burst = r_.direct ? burstType : 1;
    }
    top_.io_board_xdma_r_ready = !holdR && rPause_.over() && !hesitates();

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
        wPause_.again(rng_, longest);
    }
    if (top_.io_board_xdma_w_valid && top_.io_board_xdma_w_ready) {
        w_.done += std::min(width(w_) - (w_.addr + w_.done) % width(w_), w_.bytes - w_.done);
        if (++wBeats_ == wBurst_) {
            inBurst_ = false;
            wAnswers_++;
        }
        taken_.push_back(&top_.io_board_xdma_w_valid);
        wPause_.again(rng_, longest);
    }
    if (top_.io_board_xdma_b_valid && top_.io_board_xdma_b_ready) {
        if (wAnswers_ == 0 || top_.io_board_xdma_b_bits_id != 5) {
            throw std::runtime_error("AXI slave: response without its burst");
        }
        wAnswers_--;
        response = std::max<uint8_t>(response, top_.io_board_xdma_b_bits_resp);
        bPause_.again(rng_, longest);
        if (w_.done == w_.bytes && wAnswers_ == 0) {
            writing_ = false;
            if (!w_.direct) {
                h2c_.pop_front();
                h2cSts_ = 0x48;
                h2cCount++;
            }
        }
    }

    if (top_.io_board_xdma_r_valid && top_.io_board_xdma_r_ready) {
        if (rBursts_.empty() || top_.io_board_xdma_r_bits_id != 9) {
            throw std::runtime_error("AXI slave: data nobody asked for");
        }
        response = std::max<uint8_t>(response, top_.io_board_xdma_r_bits_resp);
        rPause_.again(rng_, longest);
        const uint64_t data = top_.io_board_xdma_r_bits_data;
        const unsigned first = (r_.addr + r_.done) % 8, end = first / width(r_) * width(r_) + width(r_);
        for (unsigned i = first; i < end && r_.done < r_.bytes; i++) {
            r_.data.push_back(static_cast<uint8_t>(data >> (8 * i)));
            r_.done++;
        }
        rBeats_++;
        if ((rBeats_ == rBursts_.front()) != (top_.io_board_xdma_r_bits_last != 0)) {
            throw std::runtime_error("AXI slave: RLAST in the wrong beat");
        }
        if (rBeats_ == rBursts_.front()) {
            rBursts_.pop_front();
            rBeats_ = 0;
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
    if (top_.io_board_xdma_ar_valid && top_.io_board_xdma_ar_ready) {
        rBursts_.push_back(arBeats_);
        const uint32_t addr = r_.addr + r_.asked;
        r_.asked += std::min(arBeats_ * width(r_) - addr % width(r_), r_.bytes - r_.asked);
        arBeats_ = 0;
    }
}

} // namespace uncorebench
