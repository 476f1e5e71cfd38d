#include "followers.hpp"

namespace tessera::search {

namespace {

// More tile shapes than these are not listed, and no more choices are tried for it.
constexpr std::uint32_t most_listed = 32;
constexpr std::uint64_t most_steps = 128;
// But so many for the first one: where there is none, every draw would look for it in vain.
constexpr std::uint64_t most_steps_to_first = 1U << 14U;
// Numbers that are remembered, about 128 MiB.
constexpr std::size_t most_remembered = std::size_t{1} << 24U;

bool are_none(TileWalk& all, std::uint32_t running, const std::vector<std::int64_t>& trips) {
    all.start(running, trips, most_steps_to_first);
    return !all.next() && !all.cut();
}

}  // namespace

TileStore::TileStore(const OpenSpace::Data& space) : space_(space), walks_(space.einsums.size()) {
    for (std::size_t e = 0; e < walks_.size(); ++e) {
        walks_[e].resize(space.einsums[e].templates.size());
    }
}

void TileStore::trim() {
    if (remembered_ > most_remembered) {
        shapes_.clear();
        remembered_ = 0;
        ++times_forgotten_;
    }
}

TileWalk& TileStore::walk(int einsum, std::uint32_t tmpl) {
    std::unique_ptr<TileWalk>& slot = walks_[static_cast<std::size_t>(einsum)][tmpl];
    if (!slot) {
        slot = std::make_unique<TileWalk>(space_.einsums[einsum].templates[tmpl], divisors_,
                                          workspace_);
    }
    return *slot;
}

const TileShapes& TileStore::shapes(int einsum, std::uint32_t tmpl, std::uint32_t running,
                                    const std::vector<std::int64_t>& trips) {
    key_.assign({einsum, tmpl, running});
    key_.insert(key_.end(), trips.begin(), trips.end());
    std::unique_ptr<TileShapes>& slot = shapes_[key_];
    if (!slot) {
        auto made = std::make_unique<TileShapes>();
        list(einsum, tmpl, running, trips, *made);
        remembered_ += made->tiles.size() + key_.size() + 16;
        slot = std::move(made);
    }
    return *slot;
}

void TileStore::list(int einsum, std::uint32_t tmpl, std::uint32_t running,
                     const std::vector<std::int64_t>& trips, TileShapes& out) {
    TileWalk& all = walk(einsum, tmpl);
    all.start(running, trips, most_steps);
    while (all.next()) {
        if (out.count == most_listed) {
            out = {TileShapes::Kind::many, 0, {}};
            return;
        }
        ++out.count;
        for (const double v : all.values()) {
            out.tiles.push_back(static_cast<std::int64_t>(v));
        }
    }
    if (all.cut() && (out.count > 0 || !are_none(all, running, trips))) {
        out = {TileShapes::Kind::many, 0, {}};
    } else if (out.count > 0) {
        out.kind = TileShapes::Kind::listed;
        out.tiles.shrink_to_fit();
    }
}

void Followers::trim() {
    tiles_.trim();
    if (seen_forgotten_ != tiles_.times_forgotten()) {
        compatibilities_.clear();
        seen_forgotten_ = tiles_.times_forgotten();
    }
}

Compatibility& Followers::after(int einsum, const Followed& followed) {
    key_.assign(1, followed.state);
    key_.insert(key_.end(), followed.open_trips.begin(), followed.open_trips.end());
    std::unique_ptr<Compatibility>& slot = compatibilities_[key_];
    if (!slot) {
        slot = std::make_unique<Compatibility>();
        static_cast<Followed&>(*slot) = followed;
        slot->einsum = einsum;
        if (einsum < static_cast<int>(space_.einsums.size())) {
            slot->shapes.resize(joiner_.all_options(followed.state).size());
            slot->no_fit.resize(slot->shapes.size(), 0);
        }
        tiles_.remember(slot->shapes.size() + key_.size() + 16);
    }
    return *slot;
}

const std::vector<std::int64_t>& Followers::wanted(const Compatibility& at,
                                                   const Joiner::Option& option) {
    const TemplateData& t = space_.einsums[at.einsum].templates[option.tmpl];
    const Pattern& pattern = t.patterns[option.pattern];
    const mapspace::detail::JoinPlan& plan =
        joiner_.ways(at.state, pattern.structure)[option.way].plan;
    demanded_trips(t, pattern, plan, at.open_trips, wanted_);
    return wanted_;
}

const TileShapes& Followers::shapes(Compatibility& at, std::size_t index) {
    if (at.shapes[index] == nullptr) {
        const Joiner::Option& option = options(at)[index];
        const TemplateData& t = space_.einsums[at.einsum].templates[option.tmpl];
        at.shapes[index] = &tiles_.shapes(space_.order[at.einsum], option.tmpl,
                                          t.patterns[option.pattern].loops, wanted(at, option));
    }
    return *at.shapes[index];
}

const std::vector<std::uint32_t>& Followers::live(Compatibility& at) {
    if (!at.scanned) {
        for (std::size_t i = 0; i < at.shapes.size(); ++i) {
            if (shapes(at, i).kind != TileShapes::Kind::none) {
                at.live.push_back(static_cast<std::uint32_t>(i));
            }
        }
        at.scanned = true;
    }
    return at.live;
}

}  // namespace tessera::search
