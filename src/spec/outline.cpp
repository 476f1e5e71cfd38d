#include "spec/outline.hpp"

namespace tessera::spec {

namespace {

thread_local Outline* innermost = nullptr;

}  // namespace

Outline::Outline() : outer_(innermost) {
    innermost = this;
}

Outline::~Outline() {
    innermost = outer_;
}

Outline* Outline::heard() {
    return innermost;
}

OutlinedKey& Outline::key(const std::string& path, const std::string& what,
                          const std::string& key) {
    OutlinedMap& map = maps_[path];
    map.what = what;
    return map.keys[key];
}

}  // namespace tessera::spec
