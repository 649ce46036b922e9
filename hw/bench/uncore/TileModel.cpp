// SPDX-License-Identifier: BSD-3-Clause
#include "TileModel.h"

#include <stdexcept>
#include <string>

namespace uncorebench {

void TileModel::read(uint32_t addr, unsigned beats) {
    reads_.emplace_back(addr, beats);
}

void TileModel::write(uint32_t addr, const std::vector<uint64_t> &data, uint8_t strb) {
    writes_.push_back({addr, data, strb});
}

void TileModel::drive(std::mt19937 &rng) {
    // An address that is offered stays.
    arHeld_ =
        arHeld_ || (!reads_.empty() && asked_.size() < MAX_OUTSTANDING && (!hesitation || rng() % 100 >= hesitation));
    *port_.arValid = arHeld_;
    if (arHeld_) {
        *port_.arAddr = reads_.front().first;
        *port_.arLen = static_cast<uint8_t>(reads_.front().second - 1);
    }
    if (!awHeld_ && !writes_.empty() && answers_ < MAX_OUTSTANDING && (!hesitation || rng() % 100 >= hesitation)) {
        awHeld_ = true;
        const Write &w = writes_.front();
        for (size_t i = 0; i < w.data.size(); i++) {
            data_.push_back({w.data[i], w.strb, i + 1 == w.data.size()});
        }
    }
    *port_.awValid = awHeld_;
    if (awHeld_) {
        *port_.awAddr = writes_.front().addr;
        *port_.awLen = static_cast<uint8_t>(writes_.front().data.size() - 1);
    }
    *port_.wValid = !data_.empty();
    if (!data_.empty()) {
        *port_.wData = data_.front().data;
        *port_.wStrb = data_.front().strb;
        *port_.wLast = data_.front().last;
    }
    *port_.bReady = *port_.rReady = 1;
}

void TileModel::sample() {
    if (arHeld_ && *port_.arReady) {
        asked_.push_back(reads_.front());
        reads_.pop_front();
        arHeld_ = false;
    }
    if (awHeld_ && *port_.awReady) {
        writes_.pop_front();
        awHeld_ = false;
        answers_++;
    }
    if (*port_.wValid && *port_.wReady) {
        data_.pop_front();
    }
    if (*port_.bValid) {
        if (answers_ == 0) {
            throw std::runtime_error("tile: an answer to no write");
        }
        answers_--;
        writeBursts++;
    }
    if (*port_.rValid) {
        if (asked_.empty()) {
            throw std::runtime_error("tile: data that nobody asked for");
        }
        words_.push_back(*port_.rData);
        if ((words_.size() == asked_.front().second) != (*port_.rLast != 0)) {
            throw std::runtime_error("tile: RLAST in the wrong beat");
        }
        if (*port_.rLast) {
            result.emplace_back(asked_.front().first, std::move(words_));
            words_.clear();
            asked_.pop_front();
            readBursts++;
        }
    }
}

} // namespace uncorebench
