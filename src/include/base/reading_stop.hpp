// Stopping the reading of inputs. It has a token of its own: who reads a small text inside a
// computation is not ended by what ends the computation.
#pragma once

#include "tessera/base/stop.hpp"

namespace tessera::base {

/// What stops the readers on this thread while the scope lives. One at a time.
class ReadingScope {
public:
    explicit ReadingScope(const StopToken& token);
    ~ReadingScope();
    ReadingScope(const ReadingScope&) = delete;
    ReadingScope& operator=(const ReadingScope&) = delete;
};

/// \throws Stopped if the token of this thread's scope says so. Costs a few loads.
void poll_reading();

}  // namespace tessera::base
