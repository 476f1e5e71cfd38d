// Which memory holds which tensor (H1), then all orders of the holders that H2-H4 allow.
#include "oracle/oracle_holders.hpp"

#include <algorithm>

namespace tessera::oracle {

namespace {

using arch::LevelKind;
using arch::Path;
using arch::PathLevel;
using mapspace::MapSpaceOptions;
using workload::LocalTensor;
using workload::TensorMask;

template <class T>
auto& at(T& items, int index) {
    return items[static_cast<std::size_t>(index)];
}

class HolderEnumerator {
public:
    HolderEnumerator(const Path& path, const MapSpaceOptions& options, const HolderSink& sink)
        : path_(path), options_(options), sink_(sink) {
        for (const auto& t : path.einsum.tensors) {
            tensors_.push_back(&t);
        }
    }

    bool run() {
        held_.assign(path_.levels.size(), 0);
        return choose_level(0, path_.symbols.child());
    }

private:
    bool choose_level(int l, const spec::Symbols& symbols) {
        if (l + 1 == static_cast<int>(path_.levels.size())) {
            return all_held() ? order_holders() : true;
        }
        const PathLevel& level = at(path_.levels, l);
        if (level.kind != LevelKind::memory) {
            return choose_level(l + 1, symbols);
        }
        TensorMask above = 0;
        for (int i = 0; i < l; ++i) {
            above |= at(held_, i);
        }
        spec::Symbols here = symbols.child();
        here.set("Above", spec::TensorSet{above});
        TensorMask keep = 0, may = 0;
        if (level.enabled) {
            const TensorMask back =
                level.back.empty() ? 0 : arch::evaluate_tensors(level.back, here);
            keep = back | (level.has_keep ? arch::evaluate_tensors(level.keep, here) : 0);
            may = level.has_may_keep ? arch::evaluate_tensors(level.may_keep, here)
                                     : (level.has_keep ? 0 : path_.einsum.all());
            if ((back & above) != 0) {
                return true;
            }
            if (options_.unfused && l == path_.first_memory()) {
                keep = path_.einsum.all();
            }
            may &= ~keep;
        }
        for (TensorMask sub = may;; sub = (sub - 1) & may) {
            at(held_, l) = keep | sub;
            spec::Symbols below = symbols.child();
            below.set(level.name, spec::TensorSet{keep | sub});
            if (!choose_level(l + 1, below)) {
                return false;
            }
            if (sub == 0) {
                break;
            }
        }
        at(held_, l) = 0;
        return true;
    }

    bool all_held() const {
        TensorMask any = 0;
        for (const TensorMask m : held_) {
            any |= m;
        }
        return any == path_.einsum.all();
    }

    // Section 2 H2-H4 for `upper` somewhere above `lower`.
    bool may_stand_above(const Holder& upper, const Holder& lower) const {
        if (stands_first(path_, lower) && !stands_first(path_, upper)) {
            return false;
        }
        if (stands_first(path_, upper) && stands_first(path_, lower)) {
            // No loop stands between them: one order is as good as any.
            return std::pair(upper.level, upper.tensor) < std::pair(lower.level, lower.tensor);
        }
        if (lower.level >= upper.level) {
            return true;
        }
        const bool forced = options_.force_memory_hierarchy_order &&
                            at(path_.levels, upper.level).force_memory_hierarchy_order &&
                            at(path_.levels, lower.level).force_memory_hierarchy_order &&
                            !(upper.backing && at(tensors_, upper.tensor)->persistent) &&
                            !(lower.backing && at(tensors_, lower.tensor)->persistent);
        return !forced && !(upper.backing && at(tensors_, upper.tensor)->fusable) &&
               upper.tensor != lower.tensor;
    }

    bool keeps_a_listed_order() const {
        for (int l = 0; l < static_cast<int>(path_.levels.size()); ++l) {
            const auto& options = at(path_.levels, l).tensor_order_options;
            const bool kept = std::any_of(options.begin(), options.end(),
                                          [&](const auto& order) { return keeps_order(order, l); });
            if (!options.empty() && !kept) {
                return false;
            }
        }
        return true;
    }

    bool keeps_order(const std::vector<spec::Expression>& order, int level) const {
        std::vector<int> places;
        for (const Holder& h : holders_) {
            for (std::size_t i = 0; h.level == level && i < order.size(); ++i) {
                if ((arch::evaluate_tensors(order[i], path_.symbols) >> h.tensor & 1) != 0) {
                    places.push_back(static_cast<int>(i));
                }
            }
        }
        return std::is_sorted(places.begin(), places.end());
    }

    bool order_holders() {
        std::vector<Holder> all;
        TensorMask seen = 0;
        for (int l = 0; l < static_cast<int>(held_.size()); ++l) {
            for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
                if ((at(held_, l) >> t & 1) != 0) {
                    all.push_back({t, l, (seen >> t & 1) == 0});
                }
            }
            seen |= at(held_, l);
        }
        holders_.clear();
        return place_holder(all);
    }

    bool place_holder(const std::vector<Holder>& rest) {
        if (rest.empty()) {
            return keeps_a_listed_order() ? sink_(holders_) : true;
        }
        for (std::size_t i = 0; i < rest.size(); ++i) {
            std::vector<Holder> others = rest;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            const bool fits = std::all_of(others.begin(), others.end(), [&](const Holder& lower) {
                return may_stand_above(rest[i], lower);
            });
            if (!fits) {
                continue;
            }
            holders_.push_back(rest[i]);
            const bool go_on = place_holder(others);
            holders_.pop_back();
            if (!go_on) {
                return false;
            }
        }
        return true;
    }

    const Path& path_;
    const MapSpaceOptions& options_;
    const HolderSink& sink_;
    std::vector<const LocalTensor*> tensors_;
    std::vector<TensorMask> held_;  // per level
    std::vector<Holder> holders_;   // as they stand
};

}  // namespace

bool stands_first(const Path& path, const Holder& h) {
    return h.level == path.first_memory() ||
           (h.backing && path.einsum.tensors[static_cast<std::size_t>(h.tensor)].persistent);
}

bool enumerate_holders(const Path& path, const MapSpaceOptions& options, const HolderSink& sink) {
    return HolderEnumerator(path, options, sink).run();
}

}  // namespace tessera::oracle
