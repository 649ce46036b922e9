// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Between the slot of the virtual board (assasin_kernel.h) and a kernel's top function. The wrapper that
/// `assasin hls build` generates is made of this.
#ifndef ASSASIN_MODEL_H
#define ASSASIN_MODEL_H

#include "assasin_kernel.h"
#include "assasin_slot.h"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <type_traits>

namespace assasin {

/// An input stream of the slot. Beats behind the last one are never there: a kernel that asks waits until it is reset.
class Source : public Endpoint<beat_t> {
  public:
    Source(const assasin_kernel_port &port, unsigned number) : port_(port), number_(number) {
    }
    beat_t read() override {
        assasin_beat raw;
        if (port_.read(port_.ctx, number_, &raw) != 0)
            throw Stop();
        beat_t beat;
        beat.data = raw.data;
        beat.keep = raw.keep;
        beat.strb = raw.keep;
        beat.last = raw.last;
        return beat;
    }
    void write(const beat_t &) override {
        throw Fault{"writes to its input stream " + std::to_string(number_)};
    }

  private:
    const assasin_kernel_port &port_;
    unsigned number_;
};

/// The output stream of the slot, which holds the kernel to what the slot expects.
class Sink : public Endpoint<beat_t> {
  public:
    explicit Sink(const assasin_kernel_port &port) : port_(port) {
    }
    beat_t read() override {
        throw Fault{"reads its output stream"};
    }
    void write(const beat_t &beat) override {
        assasin_beat raw;
        raw.data = beat.data.to_uint64();
        raw.keep = static_cast<uint8_t>(beat.keep.to_uint());
        raw.last = static_cast<uint8_t>(beat.last.to_uint());
        if (ended_)
            throw Fault{"writes a beat behind the one with last"};
        if ((raw.keep & (raw.keep + 1)) != 0)
            throw Fault{"writes a beat whose keep has a gap"};
        if (!raw.last && raw.keep != 0xff)
            throw Fault{"writes a beat that is not whole before the last one"};
        ended_ = raw.last != 0;
        if (port_.write(port_.ctx, &raw) != 0)
            throw Stop();
    }
    bool ended() const {
        return ended_;
    }

  private:
    const assasin_kernel_port &port_;
    bool ended_ = false;
};

/// A 32-bit argument as the kernel's type has it.
template <typename T> T scalar(uint32_t word) {
    return T(word);
}
template <> inline ap_int<32> scalar<ap_int<32>>(uint32_t word) {
    return ap_int<32>(static_cast<int32_t>(word));
}
template <> inline float scalar<float>(uint32_t word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

/// Runs `body`, a call of the top function, with `sink` as its output. What hardware could not do is said on stderr
/// (the board's log) and leaves the stream without its end, as it would in hardware: the drive's watchdog ends it.
template <typename Body> void run(const char *kernel, const Sink &sink, Body body) {
    try {
        body();
        if (!sink.ended())
            throw Fault{"has ended without a beat that has last"};
    } catch (const Stop &) {
    } catch (const Fault &fault) {
        std::fprintf(stderr, "kernel %s: %s\n", kernel, fault.text.c_str());
    } catch (const std::exception &e) {
        std::fprintf(stderr, "kernel %s: throws an exception, which hardware has not: %s\n", kernel, e.what());
    } catch (...) {
        std::fprintf(stderr, "kernel %s: throws an exception, which hardware has not\n", kernel);
    }
}

} // namespace assasin

#endif
