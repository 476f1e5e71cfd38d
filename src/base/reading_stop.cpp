#include "base/reading_stop.hpp"

namespace tessera::base {
namespace {

thread_local StopToken reading;

}  // namespace

ReadingScope::ReadingScope(const StopToken& token) {
    reading = token;
}

ReadingScope::~ReadingScope() {
    reading = {};
}

void poll_reading() {
    if (reading.flag != nullptr) {
        const StopScope scope(reading);
        poll_stop();
    }
}

}  // namespace tessera::base
