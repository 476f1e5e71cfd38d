#include "tile_walk.hpp"

#include "tessera/base/stop.hpp"

namespace tessera::search {

bool TileWalk::next() {
    std::size_t k = levels_.size();
    if (fresh_) {
        fresh_ = false;
        if (k == 0) {
            return chooser_.complete();
        }
        k = 0;
        enter(0);
    } else if (k == 0) {
        return false;
    } else {
        --k;
    }
    for (;;) {
        Level& level = levels_[k];
        chooser_.rewind(k);
        if (level.place == level.values.size()) {
            base::poll_stop();
            if (k == 0) {
                return false;
            }
            --k;
            continue;
        }
        if (steps_ == 0) {
            return false;
        }
        --steps_;
        if (!chooser_.choose(k, level.values[level.place++])) {
            if (chooser_.too_large()) {
                level.place = level.values.size();
            }
            continue;
        }
        if (k + 1 < levels_.size()) {
            enter(++k);
        } else if (chooser_.complete()) {
            return true;
        }
    }
}

}  // namespace tessera::search
