// Partial assignments: a TileChooser for each Einsum, and a trail of what was chosen. Map:
//   start()    reads the structure off a point
//   open()     an Einsum can begin once the fused loops before it are chosen
//   look()     which Einsum is next, and what its next tile shape may be
//   fill_one() the rest of one Einsum at random
#include "tessera/search/partial.hpp"

#include <algorithm>

#include "einsum_orders.hpp"
#include "search/join/evaluation.hpp"
#include "search/join/joiner.hpp"
#include "search/other_space.hpp"
#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/open_space.hpp"
#include "tile_chooser.hpp"

namespace tessera::search {

namespace {

constexpr std::uint64_t fill_steps_per_symbol = 16;

using Order = Partial::Order;

/// Points whose Einsums run in one order, as they run.
struct InOrder : PartialPoint {
    InOrder(const OpenSpace::Data& data, JoinStates& states, Order order_of_choice)
        : space(data),
          order(order_of_choice),
          joiner(space, states),
          evaluation(space, joiner),
          choosers(space.einsums.size()),
          parts(space.einsums.size()) {
        for (std::size_t e = 0; e < choosers.size(); ++e) {
            choosers[e].resize(space.einsums[e].templates.size());
        }
    }

    /// One Einsum of the structure.
    struct Part {
        const TemplateData* t = nullptr;
        TileChooser* chooser = nullptr;
        const Way* way = nullptr;
        const Pattern* pattern = nullptr;
        std::size_t n_fused = 0;  ///< symbols of fused loops: the first in order
        std::size_t chosen = 0;
        Followed before;  ///< once it is open
    };

    TileChooser& chooser(std::size_t e, std::uint32_t tmpl) {
        std::unique_ptr<TileChooser>& slot = choosers[e][tmpl];
        if (!slot) {
            slot = std::make_unique<TileChooser>(space.einsums[e].templates[tmpl], divisors,
                                                 workspace);
        }
        return *slot;
    }

    bool start(const Point& from) override {
        chosen_structure.clear();
        trail.clear();
        n_open = 0;
        looked = false;
        if (evaluation.follow(from) != Verdict::legal) {
            return false;
        }
        for (std::size_t e = 0; e < parts.size(); ++e) {
            const Link& link = evaluation.links()[e];
            Part& part = parts[e];
            part.t = &space.einsums[e].templates[link.tmpl];
            part.chooser = &chooser(e, link.tmpl);
            part.way = link.way;
            part.pattern = link.pattern;
            part.chosen = 0;
            part.n_fused = static_cast<std::size_t>(
                std::count_if(part.t->fused.begin(), part.t->fused.end(),
                              [](const FusedLoop& loop) { return loop.symbol >= 0; }));
            chosen_structure.insert(chosen_structure.end(),
                                    {link.tmpl, link.join, part.pattern->loops});
        }
        built.choices = from.choices;
        parts[0].before.start();
        open();
        return true;
    }

    /// Begins the Einsums whose shared loops are known.
    void open() {
        while (n_open < parts.size()) {
            Part& part = parts[n_open];
            if (n_open > 0) {
                const Part& last = parts[n_open - 1];
                if (last.chosen < last.n_fused) {
                    return;
                }
                trips_of(*last.t, last.pattern->loops, last.chooser->values().data(), trips);
                part.before = last.before;
                part.before.join(*last.way, trips);
            }
            demanded_trips(*part.t, *part.pattern, part.way->plan, part.before.open_trips, trips);
            part.chooser->start(part.pattern->loops, trips);
            part.chosen = 0;
            ++n_open;
        }
    }

    const std::vector<std::uint32_t>& structure() const override {
        return chosen_structure;
    }

    bool complete() const override {
        return n_open == parts.size() &&
               std::all_of(parts.begin(), parts.end(),
                           [](const Part& part) { return part.chosen == part.chooser->size(); });
    }

    /// The values of an Einsum's next tile shape that no limit excludes.
    void list(Part& part, std::vector<std::int64_t>& out) {
        const std::size_t k = part.chosen;
        out.clear();
        part.chooser->candidates(k, candidates);
        for (const double value : candidates) {
            const bool good = part.chooser->choose(k, value) &&
                              (k + 1 < part.chooser->size() || part.chooser->complete());
            const bool too_large = !good && part.chooser->too_large();
            part.chooser->rewind(k);
            if (good) {
                out.push_back(static_cast<std::int64_t>(value));
            } else if (too_large && k + 1 < part.chooser->size()) {
                break;  // they ascend
            }
        }
    }

    void look() {
        if (looked) {
            return;
        }
        bool first = true;
        const auto consider = [&](std::size_t e) {
            list(parts[e], order == Order::fewest ? other : next_values);
            if (order == Order::fewest && (first || other.size() < next_values.size())) {
                std::swap(next_values, other);
                next = e;
            } else if (order != Order::fewest) {
                next = e;
            }
            first = false;
        };
        const auto unfinished = [&](bool fused) {
            std::size_t e = 0;
            while (e < n_open &&
                   parts[e].chosen >= (fused ? parts[e].n_fused : parts[e].chooser->size())) {
                ++e;
            }
            return e;
        };
        if (order == Order::fewest) {
            for (std::size_t e = 0; e < n_open && (first || next_values.size() > 1); ++e) {
                if (parts[e].chosen < parts[e].chooser->size()) {
                    consider(e);
                }
            }
        } else {
            const std::size_t fused = order == Order::fused_first ? unfinished(true) : n_open;
            consider(fused < n_open ? fused : unfinished(false));
        }
        looked = true;
    }

    void push(std::size_t e) {
        ++parts[e].chosen;
        trail.push_back(e);
        looked = false;
    }

    const std::vector<std::int64_t>& values() override {
        look();
        return next_values;
    }

    std::size_t place() override {
        look();
        std::size_t before = 0;
        for (std::size_t e = 0; e < next; ++e) {
            before += parts[e].t->symbols.size();
        }
        const Part& part = parts[next];
        return before + static_cast<std::size_t>(part.t->order[part.chosen]);
    }

    void choose(std::int64_t value) override {
        look();
        Part& part = parts[next];
        part.chooser->choose(part.chosen, static_cast<double>(value));
        push(next);
        open();
    }

    std::size_t depth() const override {
        return trail.size();
    }

    void rewind(std::size_t depth) override {
        while (trail.size() > depth) {
            Part& part = parts[trail.back()];
            part.chooser->rewind(--part.chosen);
            trail.pop_back();
            looked = false;
        }
        while (n_open > 1 && parts[n_open - 2].chosen < parts[n_open - 2].n_fused) {
            --n_open;
        }
        open();
    }

    /// What is left of one Einsum.
    bool fill_one(Rng& rng, std::size_t e) {
        Part& part = parts[e];
        std::uint64_t steps = fill_steps_per_symbol * (1 + part.chooser->size() - part.chosen);
        if (!part.chooser->draw(rng, steps, nullptr, part.chosen)) {
            part.chooser->rewind(part.chosen);
            return false;
        }
        while (part.chosen < part.chooser->size()) {
            push(e);
        }
        return true;
    }

    bool fill(Rng& rng) override {
        base::poll_stop();
        const std::size_t depth = trail.size();
        for (std::size_t e = 0; e < parts.size(); ++e) {
            open();
            if (!fill_one(rng, e)) {
                rewind(depth);
                return false;
            }
        }
        return true;
    }

    const Point& point() override {
        built.tiles.clear();
        for (const Part& part : parts) {
            for (const double value : part.chooser->values()) {
                built.tiles.push_back(static_cast<std::int64_t>(value));
            }
        }
        return built;
    }

    const OpenSpace::Data& space;
    const Order order;
    Joiner joiner;
    Evaluation evaluation;
    mapspace::DivisorCache divisors;
    model::FormulaWorkspace workspace;
    std::vector<std::vector<std::unique_ptr<TileChooser>>> choosers;  // by Einsum and template
    std::vector<Part> parts;
    std::size_t n_open = 0;
    std::vector<std::size_t> trail;  // Einsums, as tile shapes were chosen
    std::vector<std::uint32_t> chosen_structure;
    bool looked = false;   // `next` and `next_values` are known
    std::size_t next = 0;  // Einsum
    std::vector<std::int64_t> next_values, other, trips;
    std::vector<double> candidates;
    Point built;
};

}  // namespace

/// Hands on to the order of the point that it was started with.
struct Partial::Impl : PartialPoint {
    Impl(const OpenSpace& open, Order order_of_choice)
        : order(order_of_choice), states(open.data()), by_order(open) {}

    bool start(const Point& from) override {
        if (!by_order.has_shape(from)) {
            return false;
        }
        own = &by_order.of(from.order, states, order);
        point_.order = from.order;
        as_run(own->space, from, inside);
        const bool started = own->start(inside);
        structure_ = own->structure();
        if (from.order > 0) {
            structure_.push_back(from.order);
        }
        return started;
    }
    const std::vector<std::uint32_t>& structure() const override {
        return structure_;
    }
    bool complete() const override {
        return own->complete();
    }
    const std::vector<std::int64_t>& values() override {
        return own->values();
    }
    std::size_t place() override {
        const std::size_t place = own->place();
        return point_.order == 0 ? place : listed_place(place);
    }
    void choose(std::int64_t value) override {
        own->choose(value);
    }
    std::size_t depth() const override {
        return own->depth();
    }
    void rewind(std::size_t depth) override {
        own->rewind(depth);
    }
    bool fill(Rng& rng) override {
        return own->fill(rng);
    }
    const Point& point() override {
        if (point_.order == 0) {
            return own->point();
        }
        as_listed(own->space, own->point(), point_);
        return point_;
    }

private:
    /// Where a tile shape stands that is at `place` as the Einsums run.
    std::size_t listed_place(std::size_t place) const {
        const auto size = [&](std::size_t i) {
            return own->space.einsums[i].templates[inside.choices[i].tmpl].symbols.size();
        };
        std::size_t i = 0;
        for (; place >= size(i); ++i) {
            place -= size(i);
        }
        const std::vector<int>& runs = own->space.order;
        for (std::size_t k = 0; k < runs.size(); ++k) {
            place += runs[k] < runs[i] ? size(k) : 0;
        }
        return place;
    }

    const Order order;
    JoinStates states;
    ByOrder<InOrder> by_order;
    InOrder* own = nullptr;
    std::vector<std::uint32_t> structure_;
    Point inside, point_;
};

std::unique_ptr<PartialPoint> Partial::made(const Space& space, Order order) {
    if (const auto* other = dynamic_cast<const PartialSpace*>(&space)) {
        return other->partial();
    }
    const auto* open = dynamic_cast<const OpenSpace*>(&space);
    if (open == nullptr) {
        throw Bug("partial assignments of a space that the host did not open");
    }
    return std::make_unique<Impl>(*open, order);
}

Partial::Partial(const Space& space, Order order) : impl_(made(space, order)) {}
Partial::~Partial() = default;

bool Partial::start(const Point& point) {
    return impl_->start(point);
}

const std::vector<std::uint32_t>& Partial::structure() const {
    return impl_->structure();
}

bool Partial::complete() const {
    return impl_->complete();
}

const std::vector<std::int64_t>& Partial::values() {
    return impl_->values();
}

std::size_t Partial::place() {
    return impl_->place();
}

void Partial::choose(std::int64_t value) {
    impl_->choose(value);
}

std::size_t Partial::depth() const {
    return impl_->depth();
}

void Partial::rewind(std::size_t depth) {
    impl_->rewind(depth);
}

bool Partial::fill(Rng& rng) {
    return impl_->fill(rng);
}

const Point& Partial::point() {
    return impl_->point();
}

}  // namespace tessera::search
