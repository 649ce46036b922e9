// SPDX-License-Identifier: BSD-3-Clause
#include "torture/board.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <unistd.h>

#include "assasin/assasin.h"

namespace torture {

namespace {

/** Power has gone. */
struct Cut {};
/** The user has had enough. */
struct Enough {};

/** What a look at the clock takes itself, at most. */
constexpr uint32_t kLookCycles = 200;
/** Milliseconds after which a drive that answers nothing has hung: its clock stands still, or runs. */
constexpr uint32_t kStillMs = 30'000, kRunningMs = 180'000;
/** Of a life. */
constexpr uint32_t kMostCommands = 40;

class DoorHost : public Host {
  public:
    /** \param stop asked while the host waits */
    DoorHost(const Supply &s, const std::function<bool()> &stop) : supply(s), over(&stop) {
        open();
    }
    ~DoorHost() override {
        assasin_abandon(drive);
    }
    /** Power goes some cycles after so many more commands have completed. */
    void cutAfter(uint64_t completions, uint64_t cycles) {
        completionsLeft = completions;
        cyclesLeft = cycles;
        armed = true;
    }
    uint32_t capacity() override {
        assasin_info info{};
        assasin_get_info(drive, &info);
        if (info.blocks == 0) {
            throw Failure(Failure::Unbootable, "the drive has no namespace");
        }
        return static_cast<uint32_t>(info.blocks);
    }
    bool writeCache() override {
        std::vector<uint8_t> page(4096);
        need(assasin_identify(drive, 1, 0, page.data()), "Identify Controller");
        return page[525] & 1;
    }
    uint32_t submit(const Command &c, const std::vector<uint8_t> &data) override {
        static constexpr uint8_t kOpcodes[] = {0x02, 0x01, 0x09, 0x08, 0x00, 0, 0x80};
        auto f = std::make_unique<Flying>();
        f->host = this;
        f->id = next++;
        f->read = c.kind == Command::Read;
        assasin_command command{};
        command.dw[0] = kOpcodes[c.kind];
        command.dw[1] = 1;
        if (c.kind == Command::Format) {
            command.dw[10] = c.blocks << 9;
        }
        if (c.kind == Command::Read || c.kind == Command::Write || c.kind == Command::Zeroes) {
            command.dw[10] = c.lba;
            command.dw[12] = (c.blocks - 1) | (c.fua ? 1u << 30 : 0);
        }
        f->bytes = c.kind == Command::Trim                               ? 16
                   : c.kind == Command::Read || c.kind == Command::Write ? c.blocks * 4096
                                                                         : 0;
        if (f->bytes > 0) {
            f->memory = static_cast<uint8_t *>(assasin_dma_alloc(drive, f->bytes));
            if (f->memory == nullptr) {
                throw std::runtime_error("no DMA memory is left");
            }
        }
        if (c.kind == Command::Trim) {
            uint32_t range[4] = {0, c.blocks, c.lba, 0};
            std::memcpy(f->memory, range, sizeof range);
            command.dw[11] = 4;
        } else if (c.kind == Command::Write) {
            std::memcpy(f->memory, data.data(), data.size());
        }
        unsigned queue = c.kind == Command::Format ? ASSASIN_ADMIN : ASSASIN_IO;
        need(assasin_submit(drive, queue, &command, f->memory, f->bytes, done, f.get()), "a command");
        uint32_t id = f->id;
        flying[id] = std::move(f);
        return id;
    }
    std::vector<Ended> wait() override {
        ended.clear();
        while (ended.empty()) {
            if (!armed || completionsLeft > 0) {
                need(assasin_wait(drive), "a completion");
            } else {
                need(assasin_poll(drive), "a completion");
                look();
                usleep(100);
            }
        }
        completionsLeft -= std::min<uint64_t>(completionsLeft, ended.size());
        look();
        return std::move(ended);
    }
    void reset() override {
        assasin_abandon(drive);
        drive = nullptr;
        flying.clear();
        open();
    }
    void shutdown() override {
        need(assasin_close(std::exchange(drive, nullptr)), "the shutdown");
    }
    void idle(uint64_t cycles) override {
        /* The clock stands still when nobody has anything to do. */
        uint64_t begin = clock(), now = begin;
        for (uint32_t still = 0; now - begin < cycles && still < 20 && !(*over)();) {
            usleep(1000);
            look();
            uint64_t next = clock();
            still = next - now > kLookCycles ? 0 : still + 1;
            now = next;
        }
    }

  private:
    struct Flying {
        DoorHost *host;
        uint32_t id, bytes;
        bool read;
        uint8_t *memory = nullptr;
    };
    const Supply &supply;
    const std::function<bool()> *over;
    assasin_drive *drive = nullptr;
    std::map<uint32_t, std::unique_ptr<Flying>> flying;
    std::vector<Ended> ended;
    uint32_t next = 1;
    bool armed = false;
    uint64_t completionsLeft = 0, cyclesLeft = 0, from = 0;

    void open() {
        assasin_error error{};
        assasin_options options{};
        options.stall_ms = kStillMs;
        options.limit_ms = kRunningMs;
        options.tick = [](void *stop) { return (*static_cast<const std::function<bool()> *>(stop))() ? 1 : 0; };
        options.tick_arg = const_cast<std::function<bool()> *>(over);
        int result = assasin_open(supply.address.c_str(), &options, &drive, &error);
        if (result == 0) {
            return;
        }
        drive = nullptr;
        if (result == -EINTR) {
            throw Enough{};
        }
        if (result == -EBUSY || result == -EINVAL) {
            throw std::runtime_error(error.text);
        }
        throw Failure(Failure::Unbootable, error.text);
    }
    void need(int result, const char *what) {
        if (result == -EINTR) {
            throw Enough{};
        }
        if (result < 0) {
            throw Failure(Failure::Rule, std::string(what) + ": " + assasin_last_error(drive));
        }
    }
    uint64_t clock() {
        uint64_t now = 0;
        need(assasin_clock(drive, &now), "the clock");
        return now;
    }
    /** Cuts when it is time. */
    void look() {
        if (!armed || completionsLeft > 0) {
            return;
        }
        uint64_t now = clock();
        from = from == 0 ? now : from;
        if (now - from >= cyclesLeft) {
            kill(supply.pid, SIGKILL);
            throw Cut{};
        }
        cyclesLeft -= std::min<uint64_t>(cyclesLeft, kLookCycles); /* an idle drive's clock stands still */
    }
    static void done(void *arg, const assasin_completion *c) {
        auto *f = static_cast<Flying *>(arg);
        DoorHost &h = *f->host;
        Ended e{f->id, c->status, {}};
        if (f->read && c->status == 0) {
            e.data.assign(f->memory, f->memory + f->bytes);
        }
        if (f->memory != nullptr) {
            assasin_dma_free(h.drive, f->memory);
        }
        h.ended.push_back(std::move(e));
        h.flying.erase(h.ended.back().id);
    }
};

} // namespace

void playThroughDoor(const Case &c, Supply &supply, Counts &counts, const std::function<bool()> &stop) {
    std::mt19937_64 rng(c.seed ^ 0x646f6f72);
    History h;
    h.room = c.room;
    bool format = true;
    double bootSeconds = 0.5; /* that the drive took last until it was ready */
    for (size_t i = 0; i < c.lives.size() && !stop(); i++) {
        Life life = c.lives[i];
        /* A board's cycles cost a thousand times those of the model: fewer commands, more cuts. */
        life.commands.resize(std::min<size_t>(life.commands.size(), 4 + rng() % kMostCommands));
        while (!format && rng() % 4 == 0 && !stop()) {
            supply.on(false);
            usleep(static_cast<useconds_t>(bootSeconds * static_cast<double>(rng() % 1'100'000)));
            kill(supply.pid, SIGKILL);
            counts.cuts++;
            counts.bootCuts++;
        }
        supply.on(format);
        format = false;
        std::optional<DoorHost> host;
        std::optional<Load> load;
        bool cut = true;
        try {
            auto on = std::chrono::steady_clock::now();
            host.emplace(supply, stop);
            bootSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - on).count();
            if (!h.oracle) {
                h.oracle.emplace(0, host->writeCache());
            }
            load.emplace(*host, h, life.seed);
            counts.boots++;
            uint64_t blocks = h.reads, refused = h.refused;
            load->verify();
            if (rng() % 8 != 0) {
                host->cutAfter(rng() % (life.commands.size() + 1), rng() % 40000);
            }
            counts.commands += life.commands.size();
            counts.blocks += h.reads - blocks;
            load->run(life);
            counts.refused += h.refused - refused;
            if (life.end == Life::Off) {
                host->shutdown();
                h.oracle->durable();
                cut = false;
            }
            kill(supply.pid, SIGKILL);
        } catch (const Cut &) {
        } catch (const Enough &) {
            return;
        }
        counts.cuts += cut;
        if (load) {
            load->lost(true);
        }
    }
    counts.cases++;
}

} // namespace torture
