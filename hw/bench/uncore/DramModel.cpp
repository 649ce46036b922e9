// SPDX-License-Identifier: BSD-3-Clause
#include "DramModel.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace uncorebench {

void DramModel::drive(uint64_t now) {
    top_.io_board_dram_aw_ready = writes_.size() < 16 && !hesitates();
    top_.io_board_dram_w_ready = !hesitates();
    top_.io_board_dram_ar_ready = reads_.size() < 64 && !hesitates();
    if (!top_.io_board_dram_b_valid) {
        top_.io_board_dram_b_valid = !done_.empty() && done_.front().first <= now && !hesitates();
        if (top_.io_board_dram_b_valid) {
            const Write &w = done_.front().second;
            uint32_t addr = w.addr & ~7u;
            for (const auto &[data, strb] : w.data) {
                for (unsigned i = 0; i < 8; i++) {
                    if (strb >> i & 1) {
                        *at(addr + i) = static_cast<uint8_t>(data >> (8 * i));
                    }
                }
                addr += 8;
            }
            top_.io_board_dram_b_bits_id = w.id;
            top_.io_board_dram_b_bits_resp = 0;
        }
    }
    if (!top_.io_board_dram_r_valid) {
        top_.io_board_dram_r_valid = !reads_.empty() && reads_.front().at <= now && !hesitates();
        if (top_.io_board_dram_r_valid) {
            const Read &r = reads_.front();
            uint64_t data;
            std::memcpy(&data, at(r.addr & ~7u), 8);
            top_.io_board_dram_r_bits_id = r.id;
            top_.io_board_dram_r_bits_data = data;
            top_.io_board_dram_r_bits_resp = bad != 0 && (r.addr & ~7u) == bad ? 2 : 0;
            top_.io_board_dram_r_bits_last = r.left == 1;
        }
    }
}

void DramModel::sample(uint64_t now) {
    const auto check = [](uint32_t addr, unsigned beats) {
        const uint32_t from = addr & ~7u;
        if (from < BASE || (from >> 12) != ((from + 8 * beats - 1) >> 12)) {
            throw std::runtime_error("DRAM burst outside DRAM or across 4 KiB: " + std::to_string(addr));
        }
    };
    if (top_.io_board_dram_aw_valid && top_.io_board_dram_aw_ready) {
        const unsigned beats = top_.io_board_dram_aw_bits_len + 1u;
        check(top_.io_board_dram_aw_bits_addr, beats);
        writes_.push_back({top_.io_board_dram_aw_bits_id, top_.io_board_dram_aw_bits_addr, beats, {}});
    }
    if (top_.io_board_dram_w_valid && top_.io_board_dram_w_ready) {
        if (writes_.empty()) {
            throw std::runtime_error("DRAM: write data before their address");
        }
        Write &w = writes_.front();
        w.data.emplace_back(top_.io_board_dram_w_bits_data, top_.io_board_dram_w_bits_strb);
        writeBeats++;
        if ((w.data.size() == w.beats) != (top_.io_board_dram_w_bits_last != 0)) {
            throw std::runtime_error("DRAM: WLAST in the wrong beat");
        }
        if (w.data.size() == w.beats) {
            done_.emplace_back(now + writeLatency, std::move(w));
            writes_.pop_front();
        }
    }
    if (top_.io_board_dram_b_valid && top_.io_board_dram_b_ready) {
        done_.pop_front();
        taken_.push_back(&top_.io_board_dram_b_valid);
    }
    if (top_.io_board_dram_ar_valid && top_.io_board_dram_ar_ready) {
        const unsigned beats = top_.io_board_dram_ar_bits_len + 1u;
        check(top_.io_board_dram_ar_bits_addr, beats);
        reads_.push_back({top_.io_board_dram_ar_bits_id, top_.io_board_dram_ar_bits_addr, beats, now + readLatency});
    }
    if (top_.io_board_dram_r_valid && top_.io_board_dram_r_ready) {
        readBeats++;
        Read &r = reads_.front();
        r.addr = (r.addr & ~7u) + 8;
        if (--r.left == 0) {
            reads_.pop_front();
        }
        taken_.push_back(&top_.io_board_dram_r_valid);
    }
}

} // namespace uncorebench
