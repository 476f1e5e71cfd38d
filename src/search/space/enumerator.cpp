// All points of a space: a walk over templates, joins and tile shapes without recursion, so that it
// can stop after every point.
#include "einsum_orders.hpp"
#include "search/join/link.hpp"
#include "tessera/base/stop.hpp"
#include "tile_walk.hpp"

namespace tessera::search {

namespace {

/// Of one order of the Einsums, as they run.
class PointsInOrder {
public:
    PointsInOrder(const OpenSpace::Data& space, JoinStates& states)
        : space_(space), joiner_(space, states), stages_(space.einsums.size()) {
        enter(0, {});
    }

    bool next(Point& point) {
        std::size_t e = started_ ? stages_.size() - 1 : 0;
        started_ = true;
        if (done_) {
            return false;
        }
        for (;;) {
            if (!advance(e)) {
                if (e == 0) {
                    done_ = true;
                    return false;
                }
                --e;
            } else if (e + 1 < stages_.size()) {
                ++e;
                enter(e, stages_[e - 1].after);
            } else {
                break;
            }
        }
        write(point);
        return true;
    }

private:
    /// One Einsum: where the walk stands.
    struct Stage {
        Followed before, after;
        std::uint32_t tmpl = 0;  // next template to list
        std::vector<Joiner::Option> options;
        std::size_t option = 0;
        bool walking = false;
        Joiner::Option at;
        std::unique_ptr<TileWalk> walk;
        std::uint32_t walk_of = ~0u;
    };

    void enter(std::size_t e, const Followed& before) {
        Stage& s = stages_[e];
        s.before = before;
        s.tmpl = 0;
        s.options.clear();
        s.option = 0;
        s.walking = false;
    }

    bool advance(std::size_t e) {
        Stage& s = stages_[e];
        for (;;) {
            base::poll_stop();  // where few tile shapes are legal, a point can take minutes
            if (s.walking && s.walk->next()) {
                leave(e);
                return true;
            }
            s.walking = false;
            while (s.option == s.options.size()) {
                if (s.tmpl == space_.einsums[e].templates.size()) {
                    return false;
                }
                base::poll_stop();
                s.options.clear();
                s.option = 0;
                joiner_.options(s.before.state, s.tmpl++, s.options);
            }
            s.at = s.options[s.option++];
            begin_walk(e);
        }
    }

    void begin_walk(std::size_t e) {
        Stage& s = stages_[e];
        const TemplateData& t = space_.einsums[e].templates[s.at.tmpl];
        const Pattern& pattern = t.patterns[s.at.pattern];
        const Way& way = joiner_.ways(s.before.state, pattern.structure)[s.at.way];
        std::vector<std::int64_t> wanted;
        demanded_trips(t, pattern, way.plan, s.before.open_trips, wanted);
        if (s.walk_of != s.at.tmpl) {
            s.walk = std::make_unique<TileWalk>(t, divisors_, workspace_);
            s.walk_of = s.at.tmpl;
        }
        s.walk->start(pattern.loops, wanted);
        s.walking = true;
    }

    void leave(std::size_t e) {
        Stage& s = stages_[e];
        const TemplateData& t = space_.einsums[e].templates[s.at.tmpl];
        const Pattern& pattern = t.patterns[s.at.pattern];
        const Way& way = joiner_.ways(s.before.state, pattern.structure)[s.at.way];
        std::vector<std::int64_t> trips;
        trips_of(t, pattern.loops, s.walk->values().data(), trips);
        s.after.join(way, trips);
    }

    void write(Point& point) const {
        point.choices.clear();
        point.tiles.clear();
        for (const Stage& s : stages_) {
            point.choices.push_back({s.at.tmpl, s.at.way});
            for (const double v : s.walk->values()) {
                point.tiles.push_back(static_cast<std::int64_t>(v));
            }
        }
    }

    const OpenSpace::Data& space_;
    Joiner joiner_;
    mapspace::DivisorCache divisors_;
    model::FormulaWorkspace workspace_;
    std::vector<Stage> stages_;
    bool started_ = false;
    bool done_ = false;
};

class AllPoints : public Enumerator {
public:
    explicit AllPoints(const OpenSpace& space) : space_(space), states_(space.data()) {}

    bool next(Point& point) override {
        for (; order_ < space_.n_orders(); ++order_) {
            const OpenSpace::Data& data = space_.data(order_);
            if (!points_) {
                points_ = std::make_unique<PointsInOrder>(data, states_);
            }
            if (points_->next(inside_)) {
                as_listed(data, inside_, point);
                point.order = order_;
                return true;
            }
            points_.reset();
        }
        return false;
    }

private:
    const OpenSpace& space_;
    JoinStates states_;
    std::uint32_t order_ = 0;
    std::unique_ptr<PointsInOrder> points_;
    Point inside_;
};

}  // namespace

std::unique_ptr<Enumerator> OpenSpace::enumerate() const {
    return std::make_unique<AllPoints>(*this);
}

}  // namespace tessera::search
