// SPDX-License-Identifier: BSD-3-Clause
// assasin-native: the native board as a process.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include <getopt.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "NativeBoard.h"
#include "model/nand.h"
#include "sim/Stop.h"

namespace {

assasin::Stop stop;

void requestStop(int) {
    const uint64_t one = 1;
    stop.requested.store(true);
    (void)!write(stop.fd, &one, sizeof one);
}

/// Exit codes: 0 stopped as asked, 1 an error, 2 a bad command line, 3 the firmware did to the hardware what it may
/// not.
enum ExitCode { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_VIOLATION = 3 };

const char USAGE[] = "usage: assasin-native --config NAME --image DIR --profile FILE --firmware FILE.so [options]\n"
                     "  --config NAME        <architecture><cores>x<channels>, such as AssasinSb8x8\n"
                     "  --image DIR          NAND image, also a virtual board's; made when it is not there\n"
                     "  --profile FILE       board/virtual/profiles/*.toml\n"
                     "  --firmware FILE      shared object of the firmware\n"
                     "  --socket PATH        the door (remote PCI); also PATH.qt (QEMU's qtest), PATH.console and "
                     "PATH.bars (registers)\n"
                     "  --console FILE       console log, appended to\n"
                     "  --status FILE        JSON kept up to date (default PATH.status)\n"
                     "  --stats FILE         the same JSON, written once at the end\n"
                     "  --check              look at configuration, profile and --media, start nothing\n"
                     "  --format             erase the medium, and tell the firmware to start with an empty map\n"
                     "  --media KEY=VALUE,...   how badly the NAND behaves; board/virtual/nand/README.md has the keys\n"
                     "  --nand-age HOURS     the medium has lain that long since it was used last\n"
                     "  --race               do not hold idle drive time back to real time\n"
                     "  --quit-after CYCLE   end the run when drive time reaches CYCLE\n";

[[noreturn]] void usage(const std::string &problem) {
    std::fprintf(stderr, "assasin-native: %s\n%s", problem.c_str(), USAGE);
    std::exit(EXIT_USAGE);
}

uint64_t number(const char *option, const char *text) {
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || *text == '-') {
        usage(std::string("--") + option + " " + text + ": not a number of cycles");
    }
    return value;
}

double hours(const char *text) {
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e6)) {
        usage(std::string("--nand-age ") + text + ": choose a number of hours, 0 to 1000000");
    }
    return value;
}

assasin::NativeOptions parse(int argc, char **argv) {
    enum { FORMAT = 256, RACE, CHECK, MEDIA, NAND_AGE, CONFIG };
    static const option options[] = {
        {"image", required_argument, nullptr, 'i'},    {"profile", required_argument, nullptr, 'p'},
        {"firmware", required_argument, nullptr, 'f'}, {"socket", required_argument, nullptr, 's'},
        {"console", required_argument, nullptr, 'c'},  {"status", required_argument, nullptr, 'S'},
        {"stats", required_argument, nullptr, 'j'},    {"quit-after", required_argument, nullptr, 'q'},
        {"check", no_argument, nullptr, CHECK},        {"config", required_argument, nullptr, CONFIG},
        {"format", no_argument, nullptr, FORMAT},      {"race", no_argument, nullptr, RACE},
        {"media", required_argument, nullptr, MEDIA},  {"nand-age", required_argument, nullptr, NAND_AGE},
        {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0},
    };
    assasin::NativeOptions o;
    for (int c, index = 0; (c = getopt_long(argc, argv, "h", options, &index)) != -1;) {
        switch (c) {
        case 'i':
            o.image = optarg;
            break;
        case 'p':
            o.profile = optarg;
            break;
        case 'f':
            o.firmware = optarg;
            break;
        case 's':
            o.socket = optarg;
            break;
        case 'c':
            o.console = optarg;
            break;
        case 'S':
            o.status = optarg;
            break;
        case 'j':
            o.stats = optarg;
            break;
        case 'q':
            o.quitAfter = number("quit-after", optarg);
            break;
        case CONFIG:
            o.config = optarg;
            break;
        case CHECK:
            o.check = true;
            break;
        case FORMAT:
            o.format = true;
            break;
        case MEDIA:
            o.media += (o.media.empty() ? "" : ",") + std::string(optarg);
            break;
        case NAND_AGE:
            o.nandAge = hours(optarg);
            break;
        case RACE:
            o.race = true;
            break;
        case 'h':
            std::fputs(USAGE, stdout);
            std::exit(EXIT_OK);
        default:
            std::fputs(USAGE, stderr);
            std::exit(EXIT_USAGE);
        }
    }
    if (optind < argc) {
        usage(std::string("unexpected argument '") + argv[optind] + "'");
    }
    if (o.config.empty() || o.image.empty() || o.profile.empty() || o.firmware.empty()) {
        usage("--config, --image, --profile and --firmware are needed");
    }
    if (o.status.empty() && !o.socket.empty()) {
        o.status = o.socket + ".status";
    }
    return o;
}

/// Reports the end of a failed run to the terminal and the status file.
int fail(assasin::NativeBoard *board, const char *message, int code) {
    std::fprintf(stderr, "assasin-native: %s\n", message);
    if (board != nullptr) {
        try {
            board->publish(code == EXIT_VIOLATION ? "violation" : "failed", message);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "assasin-native: %s\n", e.what());
        }
    }
    return code;
}

} // namespace

int main(int argc, char **argv) {
    const assasin::NativeOptions options = parse(argc, argv);
    stop.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sigaction action {};
    action.sa_handler = requestStop;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    std::unique_ptr<assasin::NativeBoard> board;
    try {
        if (options.check) {
            assasin::NativeBoard::check(options);
            return EXIT_OK;
        }
        board = std::make_unique<assasin::NativeBoard>(options);
        board->run(stop);
    } catch (const model::Violation &e) {
        return fail(board.get(), e.what(), EXIT_VIOLATION);
    } catch (const std::exception &e) {
        return fail(board.get(), e.what(), EXIT_ERROR);
    }
    return EXIT_OK;
}
