// Large tables at the end of a search. To free millions of small blocks one by one can take longer
// than a stop may. A process that ends after its search leaves them to the system.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tessera/base/stop.hpp"

namespace tessera::base {

/// Says that this process ends soon after its first search. Thread rule: any.
void end_process_after_search() noexcept;

/// What leave() has kept. Thread rule: any.
std::size_t objects_left() noexcept;

namespace detail {
bool process_ends() noexcept;
/// It stays reachable: it is not lost, only not freed.
void keep_to_end(std::shared_ptr<void> object);
}  // namespace detail

/// Takes an object that nobody needs any more. It is freed at once, unless the process is about to
/// end and has memory left. No destructor is run then, so it must own nothing but memory.
/// Thread rule: any.
template <class T>
requires(!std::is_reference_v<T>) void leave(T&& object) noexcept {
    if (detail::process_ends()) {
        try {
            detail::keep_to_end(std::make_shared<T>(std::move(object)));
            return;
        } catch (...) {  // no memory for the note of it
        }
    }
    const T freed(std::move(object));
}

/// A table that is left where a stop ends its scope, and freed elsewhere. Searches go on after most
/// of their tables are done with; after a stop they do not.
template <class T>
class LeftOnStop {
public:
    template <class... Args>
    explicit LeftOnStop(Args&&... args) : object_(std::forward<Args>(args)...) {}
    ~LeftOnStop() {
        if (stop_asked()) {
            leave(std::move(object_));
        }
    }
    LeftOnStop(const LeftOnStop&) = delete;
    LeftOnStop& operator=(const LeftOnStop&) = delete;

    T& operator*() {
        return object_;
    }
    const T& operator*() const {
        return object_;
    }
    T* operator->() {
        return &object_;
    }
    const T* operator->() const {
        return &object_;
    }

private:
    T object_;
};

}  // namespace tessera::base
