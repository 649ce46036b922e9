// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// hls::stream for models on the virtual board. Inside a kernel it is a queue; the streams of the top function are
/// connected to an Endpoint, the slot. The interface is that of UG1399 ("HLS Stream Library").
#ifndef ASSASIN_MODEL_HLS_STREAM_H
#define ASSASIN_MODEL_HLS_STREAM_H

#include <cstddef>
#include <deque>
#include <string>

namespace assasin {

/// Thrown through the kernel when the slot is reset.
struct Stop {};

/// Thrown through the kernel when it does what hardware could not: the text says what.
struct Fault {
    std::string text;
};

/// Where the beats of a stream of the top function come from or go to.
template <typename T> struct Endpoint {
    virtual ~Endpoint() = default;
    /// The next beat; waits for it.
    virtual T read() = 0;
    /// Hands on a beat; waits for room.
    virtual void write(const T &value) = 0;
};

} // namespace assasin

namespace hls {

template <typename T, int DEPTH = 0> class stream {
  public:
    stream() = default;
    explicit stream(const char *name) : name_(name) {
    }
    explicit stream(assasin::Endpoint<T> &endpoint) : endpoint_(&endpoint) {
    }
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;

    T read() {
        if (endpoint_)
            return endpoint_->read();
        if (queue_.empty())
            throw assasin::Fault{"reads stream '" + name_ + "' while it is empty: in hardware it would wait for ever"};
        T value = queue_.front();
        queue_.pop_front();
        return value;
    }
    void read(T &value) {
        value = read();
    }
    /// A slot has no way to look ahead: there, as if the next beat always came in time.
    bool read_nb(T &value) {
        if (empty())
            return false;
        value = read();
        return true;
    }
    void write(const T &value) {
        if (endpoint_)
            endpoint_->write(value);
        else
            queue_.push_back(value);
    }
    bool write_nb(const T &value) {
        write(value);
        return true;
    }
    bool empty() const {
        return !endpoint_ && queue_.empty();
    }
    bool full() const {
        return false;
    }
    std::size_t size() const {
        return queue_.size();
    }
    void operator>>(T &value) {
        read(value);
    }
    void operator<<(const T &value) {
        write(value);
    }

  private:
    std::string name_ = "(no name)";
    std::deque<T> queue_;
    assasin::Endpoint<T> *endpoint_ = nullptr;
};

} // namespace hls

#endif
