// The holders of a chain: docs/mapspace.md section 2, H1 to H4.
#pragma once

#include <functional>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::oracle {

struct Holder {
    int tensor = 0, level = 0;
    bool backing = false;
};

/// Returns false to end the enumeration.
using HolderSink = std::function<bool(const std::vector<Holder>&)>;

/// All choices of holders in all their orders. Returns false when `sink` did so.
bool enumerate_holders(const arch::Path& path, const mapspace::MapSpaceOptions& options,
                       const HolderSink& sink);

/// A holder of the outermost memory or the backing holder of a persistent tensor: no loop stands
/// above it (H3).
bool stands_first(const arch::Path& path, const Holder& h);

}  // namespace tessera::oracle
