// Strategy `mcts`: Monte Carlo tree search over tile shapes. Map:
//   tree.hpp   nodes, selection, rewards
//   Mcts       one iteration after the other: a structure or a path down the tree, its mappings,
//              its reward
//
// Idea     The root's branches are structures: templates, joins, which fused loops run. Below each,
//          a level of the tree is one tile shape. Its values are those that the limits of memories
//          and arrays still allow (search/partial.hpp). An iteration goes down by upper confidence
//          bounds to a node that was not visited, fills in what is left at random, and rewards the
//          path. What has been evaluated completely is closed.
//          variant=tileflow (Zheng et al., TileFlow, MICRO 2023): the tile shape with the fewest
//          values is next; the best of 100 fillings counts, as -log10 of the value; constant 1.
//          variant=tileseek (Zhang et al., TransFusion, MICRO 2025): fused loops first, in a fixed
//          order; one filling, rewarded by best / value; constant 1.4.
//          Structures are drawn, or moves of the best mapping; both papers have them given.
// State    tree, best mapping, what of the current iteration is still to be evaluated.
// Stops    never by itself.
// Parallel the fillings of an iteration; the host runs islands.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/partial.hpp"
#include "tessera/search/point_text.hpp"
#include "tree.hpp"

namespace tessera::search {

using mcts::Child;
using mcts::Node;
using mcts::Tree;

class Mcts : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice("variant", "tileflow", {"tileflow", "tileseek"},
                                 "whose tree search; sets the standard of the knobs below"),
            plugin::Knob::integer(
                "rollouts", 0, 0, 1 << 20, "",
                "random fillings of one iteration, the best of which counts; 0: 100 "
                "(tileflow), 1 (tileseek)"),
            plugin::Knob::number("exploration", -1, -1, 1e6, "",
                                 "constant of the upper confidence bound; -1: 1 (tileflow), 1.4 "
                                 "(tileseek)"),
            plugin::Knob::number("iterations", 4, 0.1, 1e6, "",
                                 "iterations for each structure, on average, before the next one"),
            plugin::Knob::number(
                "near", 0.5, 0, 1, "",
                "fraction of new structures that are moves of the best mapping; the "
                "others are drawn"),
        };
    }

    explicit Mcts(const plugin::KnobValues& knobs)
        : tileseek_(knobs.text("variant") == "tileseek"),
          rollouts_(knobs.integer("rollouts") > 0
                        ? static_cast<std::size_t>(knobs.integer("rollouts"))
                        : (tileseek_ ? 1 : 100)),
          exploration_(knobs.number("exploration") >= 0 ? knobs.number("exploration")
                                                        : (tileseek_ ? 1.4 : 1.0)),
          iterations_(knobs.number("iterations")),
          near_(knobs.number("near")) {}

    std::string name() const override {
        return "mcts";
    }
    std::size_t width() const override {
        return std::min<std::size_t>(rollouts_, 16);
    }

    void start(const Space& space, std::uint64_t seed) override {
        partial_ = std::make_unique<Partial>(
            space, tileseek_ ? Partial::Order::fused_first : Partial::Order::fewest);
        n_einsums_ = space.n_einsums();
        seed_ = seed;
        step_ = in_tree_ = 0;
        immigrant_ = false;
        best_ = {};
        tree_.clear();
        structures_.clear();
        roots_.clear();
        known_.clear();
        queue_.clear();
        path_.clear();
        punishment_ = -20;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        // An iteration may come to nothing: dead ends cost no evaluation.
        while (queue_.empty()) {
            base::poll_stop();
            if (std::exchange(immigrant_, false)) {
                learn(best_.point);
            }
            if (wants_structure()) {
                propose_structure(batch.front());
                return 1;
            }
            ++step_;
            iterate();
        }
        const std::size_t n = std::min({batch.size(), queue_.size(), width()});
        for (std::size_t i = 0; i < n; ++i) {
            batch[i].how = Candidate::How::point;
            batch[i].point = queue_[i];
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        if (queue_.empty()) {
            for (const Candidate& c : batch) {
                if (c.outcome.verdict != Verdict::not_evaluated) {
                    ++step_;
                    consider(c);
                    if (c.outcome.legal()) {
                        learn(c.point);
                    }
                }
            }
            return;
        }
        std::vector<Point> left;
        for (std::size_t i = 0; i < batch.size() && i < queue_.size(); ++i) {
            if (batch[i].outcome.verdict == Verdict::not_evaluated) {
                left.push_back(std::move(queue_[i]));  // a stop: it is asked for again
                continue;
            }
            consider(batch[i]);
            if (batch[i].outcome.legal()) {
                least_ = std::min(least_, batch[i].outcome.value);
            }
        }
        const auto n = static_cast<std::ptrdiff_t>(std::min(batch.size(), queue_.size()));
        queue_.erase(queue_.begin(), queue_.begin() + n);
        queue_.insert(queue_.begin(), left.begin(), left.end());
        if (queue_.empty()) {
            end_iteration();
        }
    }

    void immigrate(const Candidate& best) override {
        consider(best);
        immigrant_ = true;
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << step_ << ' ' << in_tree_ << ' ' << punishment_ << ' ' << closes_ << ' ' << immigrant_
            << ' ' << (least_ < std::numeric_limits<double>::infinity() ? least_ : -1) << ' '
            << path_.size() << ' ' << structures_.size() << ' ' << queue_.size() << '\n';
        for (const std::uint32_t node : path_) {
            out << node << ' ';
        }
        tree_.save(out);
        out << best_.outcome.legal() << ' ' << best_.outcome.value << ' ' << to_text(best_.point)
            << '\n';
        for (std::size_t i = 0; i < structures_.size(); ++i) {
            out << roots_[i].node << ' ' << to_text(structures_[i]) << '\n';
        }
        for (const Point& point : queue_) {
            out << to_text(point) << '\n';
        }
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::size_t n_path = 0, n_structures = 0, n_queue = 0;
        if (!(in >> step_ >> in_tree_ >> punishment_ >> closes_ >> immigrant_ >> least_ >> n_path >>
              n_structures >> n_queue)) {
            return false;
        }
        least_ = least_ < 0 ? std::numeric_limits<double>::infinity() : least_;
        path_.assign(std::min(n_path, state.size()), 0);
        for (std::uint32_t& node : path_) {
            in >> node;
        }
        bool legal = false;
        std::string line;
        const auto point = [&](Point& out) {
            return in.get() == ' ' && std::getline(in, line) && from_text(line, out);
        };
        if (!tree_.restore(in) || !(in >> legal >> best_.outcome.value) || !point(best_.point) ||
            std::any_of(path_.begin(), path_.end(),
                        [&](std::uint32_t node) { return node >= tree_.size(); })) {
            return false;
        }
        best_.outcome.verdict = legal ? Verdict::legal : Verdict::not_evaluated;
        structures_.clear();
        roots_.clear();
        known_.clear();
        queue_.clear();
        for (std::size_t i = 0; i < n_structures; ++i) {
            std::uint32_t node = 0;
            Point read;
            if (!(in >> node) || node >= tree_.size() || !point(read) || !partial_->start(read)) {
                return false;
            }
            add(std::move(read), node);
        }
        for (std::size_t i = 0; i < n_queue; ++i) {
            Point read;
            if (!std::getline(in, line) || !from_text(line, read)) {
                return false;
            }
            queue_.push_back(std::move(read));
        }
        return true;
    }

private:
    static constexpr std::size_t most_nodes = std::size_t{1} << 23U;
    static constexpr std::array<Move, 6> structural = {Move::order,   Move::keep,   Move::backing,
                                                       Move::backing, Move::einsum, Move::einsums};

    bool wants_structure() const {
        const auto is_open = [&](const Child& root) { return !tree_[root.node].closed; };
        return static_cast<double>(in_tree_) >=
                   iterations_ * static_cast<double>(structures_.size()) ||
               std::none_of(roots_.begin(), roots_.end(), is_open);
    }

    void propose_structure(Candidate& c) const {
        Rng rng(stream_seed(seed_, step_));
        c.seed = rng.next();
        if (best_.outcome.legal() && rng.uniform() < near_) {
            c.how = Candidate::How::move;
            c.move = structural[rng.below(structural.size())];
            c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
            c.point = best_.point;
        } else {
            c.how = Candidate::How::draw;
        }
    }

    void add(Point point, std::uint32_t node) {
        known_.insert(partial_->structure());
        structures_.push_back(std::move(point));
        roots_.push_back({static_cast<std::int64_t>(roots_.size()), node});
    }

    void consider(const Candidate& c) {
        if (!c.outcome.legal()) {
            return;
        }
        if (!best_.outcome.legal() || c.outcome.value < best_.outcome.value) {
            best_.point = c.point;
            best_.outcome = c.outcome;
        }
    }

    void learn(const Point& point) {
        if (partial_->start(point) && known_.count(partial_->structure()) == 0) {
            add(point, tree_.add());
        }
    }

    /// Down the tree; then the mappings of this iteration into the queue.
    void iterate() {
        Rng rng(stream_seed(seed_, step_));
        ++in_tree_;
        path_.clear();
        closes_ = false;
        least_ = std::numeric_limits<double>::infinity();
        const Child* child = tree_.select(roots_, in_tree_, exploration_, rng);
        partial_->start(structures_[static_cast<std::size_t>(child->value)]);
        path_.push_back(child->node);
        while (tree_[path_.back()].visits > 0 && expand(path_.back())) {
            const Node& node = tree_[path_.back()];
            child = tree_.select(node.children, node.visits, exploration_, rng);
            if (child == nullptr || !is_next(child->value)) {
                break;
            }
            partial_->choose(child->value);
            path_.push_back(child->node);
        }
        fill(rng);
        if (queue_.empty()) {
            end_iteration();
        }
    }

    /// A tree that was restored may be anybody's.
    bool is_next(std::int64_t value) {
        return std::binary_search(partial_->values().begin(), partial_->values().end(), value);
    }

    /// Gives a node its children; false: there are none, or no room.
    bool expand(std::uint32_t at) {
        if (partial_->complete()) {
            return false;
        }
        if (tree_[at].expanded) {
            return !tree_[at].children.empty();
        }
        if (tree_.size() >= most_nodes) {
            return false;
        }
        std::vector<Child> children;
        for (const std::int64_t value : partial_->values()) {
            children.push_back({value, tree_.add()});
        }
        tree_[at].expanded = true;
        tree_[at].children = std::move(children);
        return !tree_[at].children.empty();
    }

    /// All completions of the node where there are few of them, else random ones.
    void fill(Rng& rng) {
        const std::size_t depth = partial_->depth();
        std::size_t steps = 4 * rollouts_;
        closes_ = enumerate(steps);
        partial_->rewind(depth);
        if (closes_) {
            return;
        }
        queue_.clear();
        for (std::size_t i = 0; i < rollouts_; ++i) {
            if (partial_->fill(rng)) {
                queue_.push_back(partial_->point());
            }
            partial_->rewind(depth);
        }
    }

    /// False: there are more than `rollouts_`, or it takes too many steps.
    bool enumerate(std::size_t& steps) {
        if (partial_->complete()) {
            queue_.push_back(partial_->point());
            return queue_.size() <= rollouts_;
        }
        const std::vector<std::int64_t> values = partial_->values();
        const std::size_t depth = partial_->depth();
        for (const std::int64_t value : values) {
            if (steps-- == 0) {
                steps = 0;
                return false;
            }
            partial_->choose(value);
            const bool all = enumerate(steps);
            partial_->rewind(depth);
            if (!all) {
                return false;
            }
        }
        return true;
    }

    void end_iteration() {
        const bool found = least_ < std::numeric_limits<double>::infinity();
        double reward = 0;
        if (tileseek_) {
            reward = found ? best_.outcome.value / least_ : 0;
        } else if (found) {
            reward = -std::log10(least_);
        } else {
            // Worse than any mapping (TileFlow).
            if (best_.outcome.legal()) {
                punishment_ = std::min(punishment_, -std::log10(best_.outcome.value) - 2);
            }
            reward = punishment_;
        }
        tree_.reward(path_, reward);
        if (closes_) {
            tree_.close(path_);
        }
    }

    const bool tileseek_;
    const std::size_t rollouts_;
    const double exploration_, iterations_, near_;
    std::uint64_t seed_ = 0, n_einsums_ = 1;
    std::uint64_t step_ = 0;     // of which random numbers are a stream
    std::uint64_t in_tree_ = 0;  // iterations
    Candidate best_;
    bool immigrant_ = false;  // `best_` came from elsewhere: its structure may be new
    std::unique_ptr<Partial> partial_;
    Tree tree_;
    std::vector<Point> structures_;  // a mapping of each
    std::vector<Child> roots_;       // their nodes; value: which of `structures_`
    std::set<std::vector<std::uint32_t>> known_;
    // The current iteration.
    std::vector<std::uint32_t> path_;
    std::vector<Point> queue_;  // still to be evaluated
    bool closes_ = false;       // they are all there are below the path's end
    double least_ = std::numeric_limits<double>::infinity();
    double punishment_ = -20;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Mcts, "mcts",
               "Monte Carlo tree search over tile shapes",
               "Zheng et al., TileFlow, MICRO 2023; Zhang et al., TransFusion, MICRO 2025");

}  // namespace tessera::search
