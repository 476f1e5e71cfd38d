#include "transformation/judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

#include "tessera/base/error.hpp"
#include "transformation/solve.hpp"
#include "transformation/transformed.hpp"
#include "transformation/wider.hpp"

namespace tessera::transformation {

namespace {

using mapper::Metric;

constexpr double rounding = 1e-12;

std::vector<Metric> draw_metrics(Random& r) {
    switch (r.below(10)) {
        case 0:
            return {Metric::energy, Metric::latency};
        case 1:
        case 2:
        case 3:
            return {Metric::energy};
        case 4:
        case 5:
            return {Metric::latency};
        default:
            return {Metric::edp};
    }
}

bool at_most(double a, double b) {
    return a <= b || a - b <= rounding * std::abs(b);
}

/// For every metric that is asked for. Of energy or latency alone: where it is equal, by the other
/// one, too.
bool no_worse(const Cost& a, const Cost& b, const std::vector<Metric>& metrics) {
    const Metric first = metrics.front();
    if (metrics.size() == 1 && first != Metric::edp) {
        return at_most(a.of(first), b.of(first)) &&
               (!at_most(b.of(first), a.of(first)) ||
                at_most(a.of(mapper::later_metric(first)), b.of(mapper::later_metric(first))));
    }
    return std::all_of(metrics.begin(), metrics.end(),
                       [&](Metric m) { return at_most(a.of(m), b.of(m)); });
}

/// Every point of `old` is met or undercut.
bool covers(const std::vector<Cost>& front, const std::vector<Cost>& old,
            const std::vector<Metric>& metrics) {
    return std::all_of(old.begin(), old.end(), [&](const Cost& o) {
        return std::any_of(front.begin(), front.end(),
                           [&](const Cost& c) { return no_worse(c, o, metrics); });
    });
}

std::string described(const std::vector<Cost>& points, const std::vector<Metric>& metrics) {
    std::ostringstream out;
    out.precision(17);
    for (const Cost& p : points) {
        out << " (";
        for (const Metric m : metrics) {
            out << (m == metrics.front() ? "" : ", ") << p.of(m);
        }
        if (metrics.size() == 1 && metrics.front() != Metric::edp) {
            out << ", then " << p.of(mapper::later_metric(metrics.front()));
        }
        out << ")";
    }
    return points.empty() ? " none" : out.str();
}

class Judge {
public:
    explicit Judge(std::uint64_t seed)
        : seed_(seed),
          random_(seed ^ 0x1dea),
          problem_(random_problem(seed)),
          metrics_(draw_metrics(random_)) {}

    Outcome run() {
        const auto start = std::chrono::steady_clock::now();
        outcome_.family = problem_.family;
        outcome_.features = features(problem_);
        try {
            compare();
        } catch (const std::exception& error) {
            complain(stage_ + ": " + error.what());
        }
        outcome_.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return outcome_;
    }

private:
    void compare() {
        const std::optional<Optimum> own = solve(problem_, metrics_);
        if (!own) {
            return;
        }
        outcome_.mapped = !own->points.empty();
        outcome_.proven = with_transformed(*own);
        outcome_.proven = with_wider(*own) && outcome_.proven;
        outcome_.proven = by_need(*own) && outcome_.proven;
    }

    /// The same problem, of which ffm makes templates by need though there are few.
    bool by_need(const Optimum& own) {
        if (seed_ % 3 != 0 || metrics_.size() > 1 || problem_.options.partial_tiles()) {
            return true;
        }
        enter("again", {"templates by need"});
        const std::optional<Optimum> other = solve(problem_, metrics_, {"all-templates"});
        if (!other) {
            return false;
        }
        if (!covers(other->points, own.points, metrics_) ||
            !covers(own.points, other->points, metrics_)) {
            complain(stage_ + ":" + described(other->points, metrics_) + ", expected" +
                     described(own.points, metrics_));
        }
        return true;
    }

    bool with_transformed(const Optimum& own) {
        const Transformed transformed = draw_transformed(problem_, random_);
        enter("transformed", transformed.changes);
        const std::optional<Optimum> other = solve(transformed.problem, metrics_);
        if (!other) {
            return false;
        }
        std::vector<Cost> expected;
        for (const Cost& c : own.points) {
            expected.push_back({c.energy_j * transformed.energy, c.latency_s * transformed.time});
        }
        const bool same = transformed.exact
                              ? described(expected, metrics_) == described(other->points, metrics_)
                              : covers(other->points, expected, metrics_) &&
                                    covers(expected, other->points, metrics_);
        if (!same) {
            complain(stage_ + ":" + described(other->points, metrics_) + ", expected" +
                     described(expected, metrics_));
        }
        if (own.mapping && transformed.same_tree) {
            carried(transformed.problem, transformed.rewritten(*own.mapping), expected.front());
        }
        return true;
    }

    bool with_wider(const Optimum& own) {
        const Wider wider = draw_wider(problem_, random_);
        if (wider.changes.empty()) {
            return true;
        }
        enter("wider", wider.changes);
        const std::optional<Optimum> other = solve(wider.problem, metrics_);
        if (!other) {
            return false;
        }
        if (!covers(other->points, own.points, metrics_)) {
            complain(stage_ + ":" + described(other->points, metrics_) + ", before" +
                     described(own.points, metrics_));
        }
        if (own.mapping && wider.same_tree) {
            carried(wider.problem, *own.mapping, own.points.front());
        }
        const mapspace::MapSpaceOptions& space = problem_.options;
        // With one of the two alone the checker leaves it to the templates which loops may.
        if (other->mapping && wider.same_tree &&
            space.imperfect_temporal == space.imperfect_spatial) {
            member(*other->mapping, own);
        }
        return true;
    }

    /// A mapping of a wider mapspace that the checker calls a member of the original one, as it
    /// does with mappings to begin with: what is proven there holds for it.
    void member(const mapping::Mapping& mapping, const Optimum& own) {
        std::string why;
        Cost cost;
        try {
            cost = evaluate(problem_, mapping, why);
        } catch (const IllegalMapping& illegal) {
            why = illegal.what();
        }
        if (why.empty() && !covers(own.points, {cost}, metrics_)) {
            complain(stage_ + ": its optimum is called a member of the original and costs" +
                     described({cost}, metrics_) + " there, proven is" +
                     described(own.points, metrics_));
        }
        outcome_.changes.push_back(why.empty() ? "member of the original" : "no member of it");
    }

    /// The mapping is legal there, too, and costs no more than it must.
    void carried(const Problem& problem, const mapping::Mapping& mapping, const Cost& limit) {
        std::string why;
        const Cost cost = evaluate(problem, mapping, why);
        if (!why.empty()) {
            complain(stage_ + ": the mapping of the original is refused: " + why);
        } else if (!no_worse(cost, limit, {Metric::energy, Metric::latency})) {
            complain(stage_ + ": the mapping of the original costs" +
                     described({cost}, {Metric::energy, Metric::latency}) + ", expected" +
                     described({limit}, {Metric::energy, Metric::latency}));
        }
    }

    void enter(const std::string& what, const std::vector<std::string>& changes) {
        stage_ = what + " (";
        for (const std::string& change : changes) {
            stage_ += (&change == changes.data() ? "" : ", ") + change;
            outcome_.changes.push_back(change);
        }
        stage_ += ")";
    }

    void complain(const std::string& text) {
        outcome_.error += (outcome_.error.empty() ? "" : "; ") + text;
    }

    std::uint64_t seed_;
    Random random_;
    Problem problem_;
    std::vector<Metric> metrics_;
    Outcome outcome_;
    std::string stage_ = "original";
};

}  // namespace

Outcome judge(std::uint64_t seed) {
    try {
        return Judge(seed).run();
    } catch (const std::exception& error) {
        Outcome broken;
        broken.error = error.what();
        return broken;
    }
}

}  // namespace tessera::transformation
