// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "Configuration.h"
#include "Firmware.h"
#include "NativeDrive.h"
#include "model/nand.h"
#include "pciproxy/BarServer.h"
#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "pciproxy/Server.h"
#include "sim/Bar0Master.h"
#include "sim/Console.h"
#include "sim/Profile.h"
#include "sim/Status.h"
#include "sim/Stop.h"

namespace assasin {

/// What the command line asks for; as the virtual board's.
struct NativeOptions {
    std::string config;
    std::string image;
    std::string profile;
    std::string firmware; ///< shared object of the firmware
    std::string socket;
    std::string console;
    std::string status;
    std::string stats;
    std::string media;
    double nandAge = 0;
    bool format = false;
    bool check = false;
    bool race = false;
    uint64_t quitAfter = UINT64_MAX;
};

/// The native board: the drive, its firmware, the door, and the loop that gives them time.
class NativeBoard : private BarTarget {
  public:
    explicit NativeBoard(const NativeOptions &options);
    ~NativeBoard() override;

    /// Throws std::runtime_error when configuration, profile or media do not fit; touches nothing.
    static void check(const NativeOptions &options);

    /// Boots the firmware and serves until `stop` is requested or options.quitAfter is reached. Throws model::Violation
    /// when the firmware does to the hardware what it may not, std::runtime_error for other errors.
    void run(const Stop &stop);

    Status status() const;

    /// Writes the status file with `state` and `message`.
    void publish(const std::string &state, const std::string &message);

  private:
    /// The run is to end; thrown through the firmware.
    struct Stopped {};

    void barRead(int bar, uint32_t offset, unsigned size, std::function<void(uint64_t)> done) override;
    void barWrite(int bar, uint32_t offset, uint64_t value, unsigned size, std::function<void()> done) override;
    void functionReset(std::function<void()> done) override;

    void listen(const std::string &path);
    void idle();
    void serve();
    void serveConsole();
    void wait(int milliseconds);
    void waitOnServers();
    bool over() const;

    const NativeOptions options_;
    const Configuration config_;
    const Profile profile_;
    const PartFile part_;
    uint64_t cutOperations_ = 0; ///< that the latest loss of power met
    std::unique_ptr<model::Nand> nand_;
    HostMemory host_;
    PciFunction function_;
    std::unique_ptr<NativeDrive> drive_;
    std::unique_ptr<Firmware> firmware_;
    Bar0Master bar0_; ///< the console's accesses
    std::unique_ptr<Console> console_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<BarServer> bars_;
    std::vector<pollfd> fds_;
    const Stop *stop_ = nullptr;
    double started_ = 0, waited_ = 0, served_ = 0, nextPublish_ = 0; ///< host seconds
    std::string state_ = "booting", message_;
};

} // namespace assasin
