// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ActivityServer.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include <sys/socket.h>
#include <unistd.h>

namespace assasin {

namespace {

constexpr size_t MAX_OUT = size_t(64) << 20; ///< bytes kept for a client that does not read
constexpr size_t MAX_LINE = 64;
const unsigned TILES = Soc::CORES + Soc::SLOTS;

void add(std::string &text, uint64_t value) {
    text += std::to_string(value);
}

/// `"name": value`, with a comma before all but the first.
void add(std::string &text, const char *name, uint64_t value) {
    text += text.back() == '{' ? "\"" : ", \"";
    text += name;
    text += "\": ";
    add(text, value);
}

template <typename Row> void add(std::string &text, const char *name, const Row *rows, unsigned count) {
    text += ", \"";
    text += name;
    text += "\": [";
    for (unsigned i = 0; i < count; i++) {
        text += i ? ", [" : "[";
        for (const uint64_t &value : rows[i]) {
            text += &value == &rows[i][0] ? "" : ", ";
            add(text, value);
        }
        text += ']';
    }
    text += ']';
}

std::string heading(const ActivityScale &s) {
    char text[1024];
    std::snprintf(
        text, sizeof text,
        "{\"config\": \"%s\", \"ns_per_cycle\": %.6f, \"pcie_bytes_per_cycle\": %.3f, "
        "\"dram_bytes_per_cycle\": %.3f, \"dram_bytes\": %" PRIu64 ", \"channels\": %u, \"cores\": %u, \"slots\": %u, "
        "\"dies\": %u, \"phy_bytes\": %u, \"raw_page_bytes\": %u, "
        "\"core_counters\": [\"cycles\", \"instret\", \"wait_in\", \"wait_out\", \"wait_mem\", "
        "\"l1_misses\", \"l2_misses\", \"prefetches\"], \"channel_counters\": [\"bus_busy\", \"data_bytes\"]}\n",
        Soc::CONFIG, s.nsPerCycle, s.pcieBytesPerCycle, s.dramBytesPerCycle, s.dramBytes, s.channels, Soc::CORES,
        Soc::SLOTS, s.dies, s.phyBytes, s.rawPageBytes);
    return text;
}

} // namespace

ActivityServer::ActivityServer(const std::string &path, const ActivityScale &scale,
                               std::function<void(Activity &)> look)
    : listener_(path), scale_(scale), look_(std::move(look)) {
}

ActivityServer::~ActivityServer() {
    for (const Client &client : clients_) {
        close(client.fd);
    }
}

void ActivityServer::follow() {
    if (clients_.empty()) {
        following_ = false;
        return;
    }
    const ChipCounters last = latest_.chip;
    look_(latest_);
    for (unsigned i = 0; following_ && i < TILES; i++) {
        // CLEAR zeroes all of a tile's counters at once, so the cycles tell.
        if (latest_.chip.tile[i][ChipCounters::CYCLES] < last.tile[i][ChipCounters::CYCLES]) {
            for (unsigned k = 0; k < ChipCounters::TILE_COUNTERS; k++) {
                before_[i][k] += last.tile[i][k];
            }
        }
    }
    following_ = true;
}

std::string ActivityServer::json(bool asked) {
    follow();
    const Activity &a = latest_;
    ChipCounters chip = a.chip;
    for (unsigned i = 0; i < TILES; i++) {
        for (unsigned k = 0; k < ChipCounters::TILE_COUNTERS; k++) {
            chip.tile[i][k] += before_[i][k];
        }
    }
    std::string text = "{";
    add(text, "timebase", a.timebase);
    add(text, "clocked", a.clocked);
    add(text, "h2c_bytes", a.h2cBytes);
    add(text, "c2h_bytes", a.c2hBytes);
    add(text, "dram_read_bytes", a.dramReadBytes);
    add(text, "dram_write_bytes", a.dramWriteBytes);
    add(text, "array_reads", a.nand.reads);
    add(text, "array_programs", a.nand.programs);
    add(text, "array_erases", a.nand.erases);
    add(text, "firmware_sleep", a.chip.firmwareSleep);
    add(text, "asked", asked);
    add(text, "cores", chip.tile, Soc::CORES);
    add(text, "slots", chip.tile + Soc::CORES, Soc::SLOTS);
    add(text, "channels", chip.channel, Soc::CHANNELS);
    return text + "}\n";
}

void ActivityServer::flush(Client &client) {
    while (!client.out.empty()) {
        const ssize_t n = send(client.fd, client.out.data(), client.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            client.lost |= errno != EAGAIN && errno != EINTR;
            break;
        }
        client.out.erase(0, size_t(n));
    }
    // A client that does not read must not fill the board's memory: it finds the connection closed.
    client.lost |= client.out.size() > MAX_OUT;
}

void ActivityServer::give(Client &client, uint64_t now, bool asked) {
    client.out += json(asked);
    client.due = now > UINT64_MAX - client.every ? UINT64_MAX : now + client.every;
    flush(client);
}

void ActivityServer::schedule() {
    due_ = UINT64_MAX;
    for (const Client &client : clients_) {
        due_ = std::min(due_, client.due);
    }
}

void ActivityServer::sample(uint64_t now) {
    for (Client &client : clients_) {
        if (now >= client.due) {
            give(client, now);
        }
    }
    schedule();
}

void ActivityServer::beforeJump(uint64_t now, uint64_t wake) {
    for (Client &client : clients_) {
        if (wake >= client.due) {
            give(client, now);
            client.due = wake; // and the other end
        }
    }
    schedule();
}

void ActivityServer::obey(Client &client, const std::string &line, uint64_t now) {
    char *end = nullptr;
    if (client.every == 0 && line.compare(0, 6, "every ") == 0 && line[6] >= '1' && line[6] <= '9') {
        errno = 0;
        client.every = std::strtoull(line.c_str() + 6, &end, 10);
        if (errno == 0 && *end == '\0') {
            client.out = heading(scale_);
            give(client, now);
            return;
        }
    } else if (client.every != 0 && line == "now") {
        give(client, now, true);
        return;
    }
    client.lost = true;
}

void ActivityServer::receive(Client &client, uint64_t now) {
    char buffer[256];
    const ssize_t n = recv(client.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        client.lost = true;
        return;
    }
    client.in.append(buffer, n > 0 ? size_t(n) : 0);
    for (size_t end; !client.lost && (end = client.in.find('\n')) != std::string::npos;) {
        const std::string line = client.in.substr(0, end);
        client.in.erase(0, end + 1);
        obey(client, line, now);
    }
    client.lost |= client.in.size() > MAX_LINE;
}

void ActivityServer::poll(uint64_t now) {
    for (int fd; (fd = listener_.accept()) >= 0;) {
        clients_.emplace_back();
        clients_.back().fd = fd;
    }
    for (auto client = clients_.begin(); client != clients_.end();) {
        receive(*client, now);
        flush(*client);
        if (client->lost) {
            close(client->fd);
            client = clients_.erase(client);
        } else {
            ++client;
        }
    }
    schedule();
}

void ActivityServer::waitOn(std::vector<pollfd> &fds) const {
    fds.push_back({listener_.fd(), POLLIN, 0});
    for (const Client &client : clients_) {
        fds.push_back({client.fd, short(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
}

} // namespace assasin
