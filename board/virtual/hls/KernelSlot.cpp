// SPDX-License-Identifier: BSD-3-Clause
#include "hls/KernelSlot.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr uint32_t AP_START = 1u << KERNEL_CTRL_AP_START_SHIFT;
constexpr uint32_t AP_DONE = 1u << KERNEL_CTRL_AP_DONE_SHIFT;
constexpr uint32_t AP_IDLE = 1u << KERNEL_CTRL_AP_IDLE_SHIFT;
constexpr uint32_t AP_READY = 1u << KERNEL_CTRL_AP_READY_SHIFT;
constexpr uint32_t DONE_INTERRUPT = 1; ///< in IER and ISR
constexpr uint32_t READY_INTERRUPT = 2;
constexpr uint32_t SCALAR_STRIDE = 8;
/// Beats of a register slice at either end of the pipeline.
constexpr size_t SLICES = 2;

} // namespace

KernelSlot::~KernelSlot() {
    stop();
    if (left_ && !left_->over()) {
        object_.release(); // its code is being executed
    }
}

void KernelSlot::insert(const std::string &path) {
    object_ = std::make_unique<KernelObject>(path);
    const assasin_kernel &k = object_->kernel();
    depth_ = size_t(k.latency) * k.ii_den / k.ii_num + 2 * SLICES;
}

std::string KernelSlot::title() const {
    return object_ ? object_->title() : "";
}

// ---- The model's side ----

int KernelSlot::read(KernelRun &run, unsigned input, assasin_beat *beat) {
    const bool got = run.within([&] {
        if (input >= object_->kernel().inputs) {
            return false;
        }
        while (in_[input].empty()) {
            wait_ = Wait::INPUT;
            waitInput_ = input;
            if (!run.pause()) {
                return false;
            }
        }
        wait_ = Wait::TURN;
        *beat = in_[input].front().beat;
        outFrom_ = std::max(outFrom_, in_[input].front().cycle + object_->kernel().latency);
        in_[input].pop_front();
        return true;
    });
    return got ? 0 : -1;
}

int KernelSlot::write(KernelRun &run, const assasin_beat &beat) {
    const bool put = run.within([&] {
        while (out_.size() >= depth_) {
            wait_ = Wait::OUTPUT;
            if (!run.pause()) {
                return false;
            }
        }
        wait_ = Wait::TURN;
        out_.push_back({beat, outFrom_});
        return true;
    });
    return put ? 0 : -1;
}

void KernelSlot::start() {
    if (left_ && !left_->over()) {
        return; // its code is not made for two at once: it is never done
    }
    left_.reset();
    wait_ = Wait::TURN;
    outFrom_ = cycle_;
    const std::array<uint32_t, ASSASIN_KERNEL_SCALARS> scalars = scalars_;
    run_ = KernelRun::make([this, scalars](KernelRun &run) {
        struct Context {
            KernelSlot *slot;
            KernelRun *run;
        } context{this, &run};
        assasin_kernel_port port;
        port.ctx = &context;
        port.read = [](void *ctx, unsigned input, assasin_beat *beat) {
            const auto *c = static_cast<Context *>(ctx);
            return c->slot->read(*c->run, input, beat);
        };
        port.write = [](void *ctx, const assasin_beat *beat) {
            const auto *c = static_cast<Context *>(ctx);
            return c->slot->write(*c->run, *beat);
        };
        try {
            object_->kernel().run(&port, scalars.data());
        } catch (const std::exception &e) {
            std::fprintf(stderr, "assasin-board: slot %u: kernel %s threw an exception: %s\n", number_, title().c_str(),
                         e.what());
        } catch (...) {
            std::fprintf(stderr, "assasin-board: slot %u: kernel %s threw an exception\n", number_, title().c_str());
        }
    });
}

void KernelSlot::stop() {
    if (!run_) {
        return;
    }
    run_->stop();
    if (run_->lost()) {
        left_ = run_;
    }
    run_.reset();
}

/// What the model waits for is there, and cannot wait any longer.
bool KernelSlot::due() const {
    switch (wait_) {
    case Wait::INPUT: {
        const std::deque<Timed> &in = in_[waitInput_];
        return !in.empty() && (in.size() >= depth_ || in.front().cycle + object_->kernel().latency <= cycle_);
    }
    case Wait::OUTPUT:
        return out_.size() < depth_;
    default:
        return true;
    }
}

void KernelSlot::work() {
    if (!run_ || run_->returned() || run_->lost() || !due()) {
        return;
    }
    run_->resume();
    if (run_->lost()) {
        std::fprintf(stderr,
                     "assasin-board: slot %u: kernel %s has computed for %d s without reading or writing: it is left "
                     "behind and will not be done; the slot is usable again when its function returns\n",
                     number_, title().c_str(), KernelRun::LOST_SECONDS);
        left_ = run_;
    }
}

// ---- The chip's side ----

bool KernelSlot::accepts(unsigned input) const {
    const assasin_kernel &k = object_->kernel();
    return started_ && input < k.inputs && in_[input].size() < depth_ && nextAccept_[input] < (cycle_ + 1) * k.ii_den;
}

void KernelSlot::drive(SlotWires &wires) {
    if (!object_) {
        return;
    }
    work();
    wires.id = object_->kernel().id;
    wires.interrupt = (globalEnable_ & 1) != 0 && status_ != 0;
    for (unsigned i = 0; i < ASSASIN_KERNEL_INPUTS; i++) {
        wires.in[i].ready = accepts(i);
    }
    const bool offers = !out_.empty() && out_.front().cycle <= cycle_;
    wires.out.valid = offers;
    if (offers) {
        wires.out.data = out_.front().beat.data;
        wires.out.keep = out_.front().beat.keep;
        wires.out.last = out_.front().beat.last != 0;
    }
    if (fault_ == SlotFault::NO_ANSWER) {
        return; // its half of the port stays low
    }
    wires.ctrl.awReady = wires.ctrl.wReady = wires.ctrl.awValid && wires.ctrl.wValid && !answer_.bValid;
    wires.ctrl.arReady = !answer_.rValid;
    wires.ctrl.bValid = answer_.bValid;
    wires.ctrl.bResp = AXI_OKAY;
    wires.ctrl.rValid = answer_.rValid;
    wires.ctrl.rData = answer_.rData;
    wires.ctrl.rResp = AXI_OKAY;
}

void KernelSlot::sample(const SlotWires &wires) {
    if (!object_) {
        return;
    }
    cycle_++;
    if (wires.reset) {
        reset();
        return;
    }
    const assasin_kernel &k = object_->kernel();
    for (unsigned i = 0; i < ASSASIN_KERNEL_INPUTS; i++) {
        if (wires.in[i].valid && wires.in[i].ready) {
            in_[i].push_back({{wires.in[i].data, wires.in[i].keep, uint8_t(wires.in[i].last)}, cycle_});
            // An input that has rested begins anew: what it has not used is gone.
            const uint64_t now = (cycle_ - 1) * k.ii_den;
            nextAccept_[i] = std::max(nextAccept_[i], now) + k.ii_num;
        }
    }
    if (wires.out.valid && wires.out.ready) {
        out_.pop_front();
    }
    if (started_ && run_ && run_->returned() && out_.empty()) {
        finish();
    }
    sampleRegisters(wires.ctrl);
}

void KernelSlot::finish() {
    run_.reset();
    started_ = false;
    done_ = true;
    status_ |= enable_ & (DONE_INTERRUPT | READY_INTERRUPT);
}

void KernelSlot::reset() {
    stop();
    started_ = done_ = false;
    globalEnable_ = enable_ = status_ = 0;
    scalars_.fill(0);
    answer_ = AxiLiteWires();
    out_.clear();
    for (unsigned i = 0; i < ASSASIN_KERNEL_INPUTS; i++) {
        in_[i].clear();
        nextAccept_[i] = 0;
    }
}

// ---- Registers ----

void KernelSlot::write(uint32_t offset, uint32_t value) {
    switch (offset) {
    case KERNEL_CTRL:
        if ((value & AP_START) != 0 && !started_) {
            started_ = true;
            start();
        }
        break;
    case KERNEL_GIE:
        globalEnable_ = value & 1;
        break;
    case KERNEL_IER:
        enable_ = value & (DONE_INTERRUPT | READY_INTERRUPT);
        break;
    case KERNEL_ISR:
        status_ ^= value & (DONE_INTERRUPT | READY_INTERRUPT);
        break;
    default: {
        const uint32_t i = (offset - KERNEL_SCALAR) / SCALAR_STRIDE;
        if (offset >= KERNEL_SCALAR && offset % SCALAR_STRIDE == 0 && i < object_->kernel().scalars) {
            scalars_[i] = value;
        }
    }
    }
}

uint32_t KernelSlot::read(uint32_t offset) {
    switch (offset) {
    case KERNEL_CTRL: {
        const uint32_t value = (started_ ? AP_START : AP_IDLE) | (done_ ? AP_DONE | AP_READY : 0);
        done_ = false;
        return value;
    }
    case KERNEL_GIE:
        return globalEnable_;
    case KERNEL_IER:
        return enable_;
    case KERNEL_ISR:
        return status_;
    default: {
        const uint32_t i = (offset - KERNEL_SCALAR) / SCALAR_STRIDE;
        return offset >= KERNEL_SCALAR && offset % SCALAR_STRIDE == 0 && i < scalars_.size() ? scalars_[i] : 0;
    }
    }
}

void KernelSlot::sampleRegisters(const AxiLiteWires &wires) {
    if (answer_.bValid && wires.bReady) {
        answer_.bValid = false;
    }
    if (answer_.rValid && wires.rReady) {
        answer_.rValid = false;
    }
    if (wires.awValid && wires.awReady && wires.wValid && wires.wReady) {
        write(wires.awAddr & ~3u, wires.wData);
        answer_.bValid = true;
    }
    if (wires.arValid && wires.arReady) {
        answer_.rData = read(wires.arAddr & ~3u);
        answer_.rValid = true;
    }
}

} // namespace assasin
