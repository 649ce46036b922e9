// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "hls/KernelObject.h"
#include "hls/KernelRun.h"
#include "sim/Axi.h"

namespace assasin {

/// The wires of a 64-bit AXI4-Stream.
struct AxisWires {
    bool valid = false;
    bool ready = false;
    uint64_t data = 0;
    uint8_t keep = 0;
    bool last = false;
};

/// The pins of a slot (hw/src/main/scala/assasin/slot/KernelSlotIO.scala).
struct SlotWires {
    AxisWires in[ASSASIN_KERNEL_INPUTS];
    AxisWires out;
    AxiLiteWires ctrl;
    bool interrupt = false;
    uint32_t id = 0;
    bool reset = false;
};

/// What may be wrong with the IP in a slot, so that no model can show it.
enum class SlotFault {
    NONE,
    NO_ANSWER, ///< its AXI4-Lite port takes and answers nothing: no clock, or held in reset
};

/// What is in a slot of the chip: nothing, or a kernel's C model with the pins and the timing that the IP would have.
///
/// The model computes; when what it makes is seen follows from when its input was taken: an input takes a beat every
/// initiation interval, and a beat of the result is offered `latency` cycles after the latest beat that the model had
/// read when it wrote it, at most one a cycle. So the model may run late, in batches, which costs fewer switches.
/// A pipeline holds what it takes in within its latency, and so many results too before they stop it.
class KernelSlot {
  public:
    /// Slot `number` is empty until insert().
    explicit KernelSlot(unsigned number) : number_(number) {
    }
    ~KernelSlot();
    KernelSlot(const KernelSlot &) = delete;
    KernelSlot &operator=(const KernelSlot &) = delete;

    /// Puts the kernel of a shared object into the slot; before the first cycle. Throws std::runtime_error when it is
    /// none.
    void insert(const std::string &path);

    /// Breaks the kernel that is there; before the first cycle.
    void breakWith(SlotFault fault) {
        fault_ = fault;
    }

    /// "name/version" of the kernel, empty without.
    std::string title() const;

    /// Drives the slot's half of the wires for the coming cycle.
    void drive(SlotWires &wires);

    /// Takes over the chip's half at the clock edge.
    void sample(const SlotWires &wires);

  private:
    /// A beat, and from which cycle on it is there.
    struct Timed {
        assasin_beat beat;
        uint64_t cycle;
    };

    void start();
    void stop();
    void work();
    void reset();
    void finish();
    bool due() const;
    bool accepts(unsigned input) const;
    int read(KernelRun &run, unsigned input, assasin_beat *beat);
    int write(KernelRun &run, const assasin_beat &beat);
    void write(uint32_t offset, uint32_t value);
    uint32_t read(uint32_t offset);
    void sampleRegisters(const AxiLiteWires &wires);

    const unsigned number_;
    std::unique_ptr<KernelObject> object_;
    SlotFault fault_ = SlotFault::NONE;
    uint64_t cycle_ = 0;
    size_t depth_ = 0; ///< beats that the pipeline holds

    // Block control and arguments (hw/regs/slot.toml).
    bool started_ = false;
    bool done_ = false;
    uint32_t globalEnable_ = 0;
    uint32_t enable_ = 0;
    uint32_t status_ = 0;
    std::array<uint32_t, ASSASIN_KERNEL_SCALARS> scalars_{};
    AxiLiteWires answer_; ///< what is being answered

    // The model's run and what it waits for.
    std::shared_ptr<KernelRun> run_;
    std::shared_ptr<KernelRun> left_; ///< a run that was left behind
    enum class Wait { TURN, INPUT, OUTPUT } wait_ = Wait::TURN;
    unsigned waitInput_ = 0;

    std::deque<Timed> in_[ASSASIN_KERNEL_INPUTS];
    uint64_t nextAccept_[ASSASIN_KERNEL_INPUTS] = {}; ///< cycles times ii_den
    std::deque<Timed> out_;
    uint64_t outFrom_ = 0; ///< cycle from which on what is written now is offered
};

} // namespace assasin
