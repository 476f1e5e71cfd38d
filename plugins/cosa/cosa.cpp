// Strategy `cosa`: one mapping, from a mixed-integer programme (Huang et al., CoSA, ISCA 2021).
//
// Idea     Einsum by Einsum, unfused: the prime factors of the ranks are given to memories and
//          fan-outs by a linear programme over logarithms (programme.hpp), which CBC solves. Its
//          objective is CoSA's mix of buffer utilisation, temporal loops and traffic, whatever
//          metric is searched for. Of the templates that keep the most tensors in memories the one
//          is taken whose loops are closest to the solution; the host makes it legal.
// State    how many candidates were proposed.
// Stops    after the first legal candidate, or `attempts` in vain.
// Parallel no.
#include <map>
#include <memory>
#include <sstream>

#include "layout.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"

namespace tessera::search {

namespace {

using cosa::Fit;
using cosa::Layout;

/// The templates of an Einsum that keep the most tensors in memories, and the same ones.
std::vector<std::uint32_t> most_kept(const Space& space, const Allocation& allocation,
                                     std::uint32_t einsum) {
    using Key = std::pair<const arch::Path*, std::vector<arch::TensorMask>>;
    std::vector<std::uint32_t> best;
    Key key;
    std::size_t most = 0;
    for (const std::uint32_t t : allocation.unfused(einsum)) {
        const arch::Path& path = allocation.path(einsum, t);
        Key own{&path, cosa::held(path, space.tmpl(einsum, t))};
        std::size_t n = 0;
        for (const arch::TensorMask tensors : own.second) {
            for (arch::TensorMask left = tensors; left != 0; left &= left - 1) {
                ++n;
            }
        }
        if (n > most) {
            most = n;
            key = own;
            best.clear();
        }
        if (own == key) {
            best.push_back(t);
        }
    }
    return best;
}

}  // namespace

class Cosa : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::number("utilisation", -0.1, -1e3, 1e3, "",
                                 "weight of log2 of the tiles in memories (CoSA: -0.1)"),
            plugin::Knob::number("compute", 10, 0, 1e3, "",
                                 "weight of log2 of the temporal loops (CoSA: 10)"),
            plugin::Knob::number("traffic", 1, 0, 1e3, "",
                                 "weight of log2 of what is fetched (CoSA: 1)"),
            plugin::Knob::integer("nodes", 20000, 1, 1 << 30, "",
                                  "branch-and-bound nodes for one Einsum at most; then its best "
                                  "solution counts"),
            plugin::Knob::integer("attempts", 8, 1, 1 << 20, "",
                                  "times the host tries to make the solution legal")};
    }

    explicit Cosa(const plugin::KnobValues& knobs)
        : weights_{knobs.number("utilisation"), knobs.number("compute"), knobs.number("traffic")},
          gap_(knobs.number("gap")),
          nodes_(static_cast<int>(knobs.integer("nodes"))),
          attempts_(static_cast<std::uint64_t>(knobs.integer("attempts"))) {}

    std::string name() const override {
        return "cosa";
    }
    bool ends() const override {
        return true;
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        seed_ = seed;
        allocation_ = std::make_unique<Allocation>(space);
        solved_ = {};
        tries_ = 0;
        found_ = false;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty() || found_ || tries_ == attempts_) {
            return 0;
        }
        if (solved_.choices.empty()) {
            solved_ = solution();
        }
        Candidate& c = batch.front();
        c.how = Candidate::How::repair;
        c.seed = stream_seed(seed_, tries_);
        c.point = solved_;
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict != Verdict::not_evaluated) {
                ++tries_;
                found_ = found_ || c.outcome.legal();
            }
        }
    }

    std::string save() const override {
        return std::to_string(tries_) + (found_ ? " 1" : " 0");
    }
    bool restore(const std::string& state) override {
        std::istringstream in(state);
        return static_cast<bool>(in >> tries_ >> found_) && tries_ <= attempts_;
    }

private:
    /// Einsums that are alike are solved once.
    Point solution() {
        Point point;
        std::map<std::vector<double>, cosa::Assignment> known;
        for (std::uint32_t e = 0; e < space_->n_einsums(); ++e) {
            base::poll_stop();
            const std::vector<std::uint32_t> templates = most_kept(*space_, *allocation_, e);
            std::vector<const mapspace::Template*> like;
            for (const std::uint32_t t : templates) {
                like.push_back(&space_->tmpl(e, t));
            }
            const arch::Path& path = allocation_->path(e, templates.front());
            const Layout layout = cosa::layout_of(path, like, weights_);
            const auto [at, fresh] = known.try_emplace(digest(layout.programme));
            if (fresh) {
                at->second =
                    cosa::solve(layout.programme, gap_, nodes_, [] { return base::stop_asked(); });
                base::poll_stop();
            }
            append(templates, closest(layout, at->second, path, like), point);
        }
        return point;
    }

    static std::pair<std::size_t, Fit> closest(const Layout& layout,
                                               const cosa::Assignment& assignment,
                                               const arch::Path& path,
                                               const std::vector<const mapspace::Template*>& like) {
        std::pair<std::size_t, Fit> best;
        if (assignment.temporal.empty()) {  // nothing was solved: all loops are outermost
            best.second.tiles.assign(like.front()->symbols.size(), 1);
            return best;
        }
        for (std::size_t i = 0; i < like.size(); ++i) {
            for (const bool innermost : {true, false}) {
                Fit own = cosa::fit(layout, assignment, path, *like[i], innermost);
                if ((i == 0 && innermost) || own.better_than(best.second)) {
                    best = {i, std::move(own)};
                }
            }
        }
        return best;
    }

    static void append(const std::vector<std::uint32_t>& templates,
                       const std::pair<std::size_t, Fit>& chosen, Point& point) {
        point.choices.push_back({templates[chosen.first], 0});
        point.tiles.insert(point.tiles.end(), chosen.second.tiles.begin(),
                           chosen.second.tiles.end());
    }

    /// Equal programmes have equal numbers in equal places.
    static std::vector<double> digest(const cosa::Programme& p) {
        std::vector<double> all{static_cast<double>(p.ranks.size()),
                                static_cast<double>(p.tensors.size()),
                                static_cast<double>(p.memories.size())};
        for (const auto& rank : p.ranks) {
            all.push_back(static_cast<double>(rank.size()));
            for (const cosa::Prime& prime : rank) {
                all.push_back(static_cast<double>(prime.value));
                all.push_back(prime.count);
            }
        }
        for (const cosa::Tensor& tensor : p.tensors) {
            all.push_back(static_cast<double>(tensor.ranks));
        }
        for (const cosa::Memory& memory : p.memories) {
            all.insert(all.end(), memory.log2_room.begin(), memory.log2_room.end());
        }
        for (const cosa::FanOut& fan_out : p.fan_outs) {
            all.push_back(fan_out.memory);
            all.push_back(fan_out.log2_size);
            all.push_back(static_cast<double>(fan_out.ranks));
        }
        return all;
    }

    const cosa::Weights weights_;
    const double gap_;
    const int nodes_;
    const std::uint64_t attempts_;
    const Space* space_ = nullptr;
    std::unique_ptr<Allocation> allocation_;
    std::uint64_t seed_ = 0, tries_ = 0;
    bool found_ = false;
    Point solved_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Cosa, "cosa",
               "CoSA's mixed-integer programme, one mapping, unfused; solved by CBC",
               "Huang et al., CoSA: Scheduling by Constrained Optimization for Spatial "
               "Accelerators, ISCA 2021");

}  // namespace tessera::search
