// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dram/Dram.h"
#include "hls/KernelSlot.h"
#include "pciproxy/BarServer.h"
#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "pciproxy/Server.h"
#include "sim/ActivityServer.h"
#include "sim/Bar0Master.h"
#include "sim/Console.h"
#include "sim/NandArray.h"
#include "sim/Profile.h"
#include "sim/Soc.h"
#include "sim/Status.h"
#include "sim/Stop.h"
#include "xdma/Xdma.h"

namespace assasin {

/// What the command line asks for.
struct BoardOptions {
    std::string image;                       ///< directory of the NAND image
    std::string profile;                     ///< profile file
    std::string firmware;                    ///< flat binary for the TCM
    std::string socket;                      ///< the door; empty: none
    std::string console;                     ///< console log; empty: none
    std::string status;                      ///< status file kept up to date; empty: none
    std::string stats;                       ///< written once at the end; empty: none
    std::string trace;                       ///< FST file; empty: none
    std::map<unsigned, std::string> kernels; ///< shared objects by slot
    std::map<unsigned, SlotFault> faults;    ///< of those kernels
    std::string media;                       ///< KEY=VALUE,... of board/virtual/nand's reliability
    double nandAge = 0;                      ///< hours that the medium has lain
    uint64_t traceFrom = 0;                  ///< timebase
    uint64_t traceTo = UINT64_MAX;
    bool check = false;                 ///< only look at the kernels and the media
    bool format = false;                ///< erase the medium first
    uint64_t quitAfter = UINT64_MAX;    ///< timebase at which the run ends
    bool neverSleep = false;            ///< clock the chip while it sleeps too: the same results, slowly
    std::optional<uint64_t> hostPauses; ///< seed of the host's waits on the AXI4 port; absent: it makes none
    unsigned bar0Bits = Soc::BAR0_BITS; ///< widest access to BAR0 that reaches the chip, 32 or 64
    bool race = false;                  ///< let simulated time run ahead when only a timer is due
};

/// The whole board: chip, models, door, and the loop that gives them time.
///
/// A cycle: every model drives its wires, the chip settles at clock low, every model samples, the clock rises. Flash
/// pins have no cycle between: what a package answers to this cycle's outputs is there at its rising edge, as in the
/// channel's own tests. While the chip is asleep and nothing is in flight outside either, the clock stands still: the
/// timebase jumps to the next NAND event, waits for a timer in real time, or the process waits in poll() for the
/// visitor.
class Board : private BarTarget {
  public:
    explicit Board(const BoardOptions &options);
    ~Board() override;

    /// The chip's slots with the kernels that `options` names. Throws std::runtime_error when one does not fit.
    static std::vector<std::unique_ptr<KernelSlot>> slots(const BoardOptions &options);

    /// Throws std::runtime_error when options.media does not fit the board.
    static void checkMedia(const BoardOptions &options);

    /// Boots the firmware, serves, and returns when `stop` is requested or options.quitAfter is reached. Throws
    /// NandViolation when the chip breaks a rule of the flash packages, std::runtime_error on a protocol error on a
    /// port.
    void run(const Stop &stop);

    /// State for the status and stats files.
    Status status() const;

    /// Writes the status file (when there is one) with `state` ("booting", "serving", "stopped", "failed", "violation")
    /// and `message`.
    void publish(const std::string &state, const std::string &message);

  private:
    void barRead(int bar, uint32_t offset, unsigned size, std::function<void(uint64_t)> done) override;
    void barWrite(int bar, uint32_t offset, uint64_t value, unsigned size, std::function<void()> done) override;
    void functionReset(std::function<void()> done) override;

    void cycle();
    uint32_t bootArg() const;
    void boot();
    bool quiet() const;
    void sleep();
    void wait(int milliseconds);
    void serve();

    /// Opens the sockets that stand beside `path`.
    void listen(const std::string &path);

    /// Moves the timebase on while the clock stands still.
    void jump(uint64_t to);

    /// Counters of chip and models as they are.
    void look(Activity &activity) const;

    /// Adds what every server waits for to fds_.
    void waitOnServers();

    /// Somebody waits at a socket.
    bool called();
    void trace();

    const BoardOptions options_;
    const Profile profile_;
    HostMemory host_;
    PciFunction function_;
    Soc soc_;
    Dram dram_;
    Xdma xdma_;
    Bar0Master bar0_;
    NandArray nand_;
    std::vector<std::unique_ptr<KernelSlot>> slots_;
    std::unique_ptr<Console> console_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<BarServer> bars_; ///< as long as there is a server_, like the next
    std::unique_ptr<ActivityServer> activity_;
    std::vector<pollfd> fds_;
    int stopFd_ = -1;

    uint64_t now_ = 0;         ///< timebase
    uint64_t clocked_ = 0;     ///< cycles simulated
    uint64_t settleUntil_ = 0; ///< clocked_ value before which the chip's sleep output is not believed
    uint64_t nextDrain_ = 0;   ///< clocked_ value of the next console drain
    uint64_t drainEnd_ = 0;    ///< clocked_ value when the latest drain ended
    double waited_ = 0;        ///< host seconds spent waiting
    double started_ = 0;       ///< host time
    double nextPublish_ = 0;   ///< host time
    bool tracing_ = false;
    bool msix_ = false; ///< MSI-X as the chip has last been shown it
    std::string state_ = "booting";
    std::string message_;
};

} // namespace assasin
