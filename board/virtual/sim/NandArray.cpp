// SPDX-License-Identifier: BSD-3-Clause
#include "sim/NandArray.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace assasin {

namespace {

/// Empties the image file, unless a board holds it.
void wipe(const std::string &path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return;
    }
    std::string problem;
    if (fd < 0) {
        problem = std::strerror(errno);
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        problem = "another process holds it; stop that board first";
    } else if (ftruncate(fd, 0) != 0) {
        problem = std::strerror(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!problem.empty()) {
        throw std::runtime_error("cannot format NAND image " + path + ": " + problem);
    }
}

std::string prepare(const std::string &directory, bool format) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) {
        throw std::runtime_error("cannot make image directory '" + directory + "': " + error.message());
    }
    const std::string path = (std::filesystem::path(directory) / "nand.img").string();
    if (format) {
        wipe(path);
    }
    return path;
}

} // namespace

PartFile NandArray::part(const Profile &profile, const std::string &media, unsigned channels, unsigned ways) {
    PartFile part = PartFile::load(profile.partFile);
    try {
        part.reliability.setAll(media);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error("--media " + media + ": " + error.what());
    }
    const Reliability &r = part.reliability;
    if (r.dieDies && (r.deadChannel >= channels || r.deadWay >= ways || r.deadLun >= part.geometry.luns)) {
        throw std::runtime_error("--media: dead-die=" + std::to_string(r.deadChannel) + "." +
                                 std::to_string(r.deadWay) + "." + std::to_string(r.deadLun) + ": the board has " +
                                 std::to_string(channels) + " channels of " + std::to_string(ways) +
                                 " ways, the part " + std::to_string(part.geometry.luns) + " LUNs");
    }
    unsigned beyond = r.fitted == 0xFFFF ? 0 : r.fitted >> ways;
    for (unsigned channel = 0; channel < r.absent.size(); channel++) {
        beyond |= channel < channels ? r.absent[channel] >> ways : r.absent[channel];
    }
    if (beyond != 0) {
        throw std::runtime_error(
            "--media: fitted or absent names a chip enable that the board does not have: there are " +
            std::to_string(channels) + " channels of " + std::to_string(ways));
    }
    return part;
}

NandArray::NandArray(const Profile &profile, const std::string &directory, unsigned channels, unsigned ways,
                     unsigned phyBytes, bool format, const std::string &media, double age)
    : part_(part(profile, media, channels, ways)), timing_(part_, profile.nsPerCycle, phyBytes),
      image_(std::make_unique<NandImage>(prepare(directory, format), part_, channels, ways)),
      cells_(std::make_unique<NandCells>(*image_, part_, faults_)) {
    const NandSetup setup{part_, timing_, *cells_};
    for (const std::string &what : cells_->cuts) {
        std::fprintf(stderr, "assasin-board: power was lost (seed %llu): %s\n",
                     static_cast<unsigned long long>(part_.reliability.seed), what.c_str());
    }
    cells_->cuts.clear();
    cells_->age(age);
    channels_.reserve(channels);
    for (unsigned i = 0; i < channels; i++) {
        channels_.emplace_back(setup, i, ways);
    }
}

} // namespace assasin
