// Map of this file: make_space() prepares, fit() decides from the fused loops alone,
// peak_bits() walks the leaves of a tree, search() pairs everything with everything.
#include "oracle/oracle_tree.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "tessera/workload/workload.hpp"

namespace tessera::oracle {

namespace {

using Groups = std::vector<const ChainGroup*>;
using Rows = std::vector<const ChainRow*>;

const Backing* find_backing(const ChainGroup& group, int tensor) {
    for (const auto& b : group.backings) {
        if (b.tensor == tensor) {
            return &b;
        }
    }
    return nullptr;
}

int size(const Groups& groups) {
    return static_cast<int>(groups.size());
}

const ChainGroup& at(const Groups& groups, int i) {
    return *groups[static_cast<std::size_t>(i)];
}

// The rank of the tensor that is the loop's variable alone in this Einsum; "" if none is, or if the
// variable occurs in another one, too.
std::string indexed_rank(const Space& space, int einsum, int tensor, const SharedLoop& loop) {
    const auto& chains = space.einsums[static_cast<std::size_t>(einsum)];
    std::string found;
    int occurrences = 0;
    for (const auto& t : chains.paths.front().einsum.tensors) {
        for (const auto& rank : t.ranks) {
            for (const auto& term : rank.terms) {
                if (t.tensor == tensor && term.rank_variable == loop.rank_variable) {
                    ++occurrences;
                    const bool alone = rank.terms.size() == 1 && term.coefficient == 1;
                    found = alone && rank.constant == 0 ? rank.rank : "";
                }
            }
        }
    }
    return occurrences == 1 ? found : "";
}

bool same_kind(const SharedLoop& a, const SharedLoop& b) {
    return a.trips == b.trips && a.spatial == b.spatial && a.level == b.level && a.dim == b.dim;
}

bool writes(const Space& space, int einsum, int tensor) {
    const auto& p = space.workload->tensors[static_cast<std::size_t>(tensor)].producers;
    return std::find(p.begin(), p.end(), space.order[static_cast<std::size_t>(einsum)]) != p.end();
}

int shared_between(const std::vector<int>& shared, int i, int j) {
    int fewest = std::numeric_limits<int>::max();
    for (int k = std::min(i, j); k < std::max(i, j); ++k) {
        fewest = std::min(fewest, shared[static_cast<std::size_t>(k)]);
    }
    return fewest;
}

bool live_across(const Space& space, int tensor, int boundary) {
    const auto& life = space.life[static_cast<std::size_t>(tensor)];
    return life.first <= boundary && life.second > boundary;
}

/// Loops that all users of the tensor run inside.
int depth_of(const Groups& groups, int tensor) {
    for (const auto* g : groups) {
        if (const Backing* b = find_backing(*g, tensor)) {
            return b->shared_loops();
        }
    }
    return 0;
}

const workload::LocalTensor& local(const Space& space, int einsum, int tensor) {
    const auto& view = space.einsums[static_cast<std::size_t>(einsum)].paths.front().einsum;
    for (const auto& t : view.tensors) {
        if (t.tensor == tensor) {
            return t;
        }
    }
    throw std::logic_error("oracle: the Einsum does not access the tensor");
}

// J4 for a line buffer: in every iteration the writer's and the reader's loop advance by the
// same values of one rank, and the reader needs no value that the writer has not made. Value sets
// are compared, iteration by iteration.
bool in_reach(const Space& space, int writer, int reader, int tensor, const SharedLoop& w,
              const SharedLoop& r) {
    const auto& written = local(space, writer, tensor);
    const auto& read = local(space, reader, tensor);
    const auto& view = space.einsums[static_cast<std::size_t>(reader)].paths.front().einsum;
    const auto& writers = space.einsums[static_cast<std::size_t>(writer)].paths.front().einsum;
    for (const auto& rank : written.ranks) {
        if (rank.terms.size() != 1 || rank.terms[0].rank_variable != w.rank_variable ||
            rank.terms[0].coefficient != 1) {
            continue;
        }
        const auto same = std::find_if(read.ranks.begin(), read.ranks.end(),
                                       [&](const auto& other) { return other.rank == rank.rank; });
        const auto& made = writers.rank_variables[static_cast<std::size_t>(w.rank_variable)];
        const auto& walks = view.rank_variables[static_cast<std::size_t>(r.rank_variable)];
        std::int64_t factor = 0, rest = 0;
        for (const auto& term : same->terms) {
            const bool own = term.rank_variable == r.rank_variable;
            factor = own ? term.coefficient : factor;
            rest +=
                own ? 0
                    : term.coefficient *
                          (view.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound -
                           1);
        }
        if (factor == 0 || w.tile != factor * r.tile) {
            return false;
        }
        // With partial tiles, `trips` holds the tile shape besides (leading_loops).
        const std::int64_t trips = r.trips >> 32 > 0 ? r.trips >> 32 : r.trips;
        for (std::int64_t i = 0; i < trips; ++i) {
            const std::int64_t last = std::min(walks.bound, (i + 1) * r.tile + r.prologue) -
                                      1;  // of the reader's variable
            const std::int64_t done = std::min(made.bound, (i + 1) * w.tile + w.prologue);
            // Values that the producer never makes are padding.
            if (std::min(factor * last + rest, made.bound - 1) >= done ||
                factor * i * r.tile + factor * (r.tile + r.prologue) + rest - factor >=
                    i * w.tile + w.tile + w.prologue) {
                return false;
            }
        }
        return true;
    }
    return false;
}

// J1, J4 and J5 for two chains that both access a tensor.
Fit agree_on(const Space& space, const Groups& groups, const std::vector<int>& shared, int i, int j,
             const Backing& a, const Backing& b) {
    if (a.memory != b.memory || a.depth != b.depth || a.line_buffer != b.line_buffer) {
        return Fit::backing;
    }
    // A running state is also read before it is written, in the next iteration.
    const bool state = local(space, i, a.tensor).state != workload::StateAccess::none;
    const bool reads_older = state && writes(space, j, a.tensor) && !writes(space, i, a.tensor);
    const bool read_after_write =
        reads_older || (writes(space, i, a.tensor) && !writes(space, j, a.tensor));
    const int loops =
        read_after_write ? std::max(a.depth, shared_between(shared, i, j)) : a.shared_loops();
    for (int p = 0; p < loops; ++p) {
        const auto q = static_cast<std::size_t>(p);
        if (a.line_buffer && p == a.depth) {
            if (read_after_write && !reads_older &&
                !in_reach(space, i, j, a.tensor, at(groups, i).prefix[q],
                          at(groups, j).prefix[q])) {
                return Fit::ranks;
            }
            continue;
        }
        const SharedLoop& one = at(groups, i).prefix[q];
        const SharedLoop& other = at(groups, j).prefix[q];
        if (one.prologue != other.prologue || one.base != other.base) {
            return p < a.depth ? Fit::ranks : Fit::unfinished;
        }
        const auto rank = indexed_rank(space, i, a.tensor, one);
        const bool alike = rank == indexed_rank(space, j, a.tensor, other);
        const bool copies = rank.empty() && one.spatial && !read_after_write;
        if (!alike || (rank.empty() && !copies)) {
            return p < a.depth ? Fit::ranks : Fit::unfinished;
        }
    }
    return Fit::yes;
}

// J6.
bool hosts(const Space& space, const ChainGroup& group, int einsum, int depth) {
    return depth == 0 ||
           std::any_of(group.backings.begin(), group.backings.end(), [&](const Backing& b) {
               return b.shared_loops() >= depth &&
                      space.life[static_cast<std::size_t>(b.tensor)].second > einsum;
           });
}

void keep_if_pareto(std::vector<Point>& front, const Point& p) {
    for (const auto& q : front) {
        if (q.energy_j <= p.energy_j && q.latency_s <= p.latency_s) {
            return;
        }
    }
    std::erase_if(front, [&](const Point& q) {
        return p.energy_j <= q.energy_j && p.latency_s <= q.latency_s;
    });
    front.push_back(p);
    std::sort(front.begin(), front.end(),
              [](const Point& a, const Point& b) { return a.energy_j < b.energy_j; });
}

class Search {
public:
    Search(const Space& space, bool count_only, std::uint64_t limit = no_limit,
           const std::function<void(const Tree&)>* visit = nullptr)
        : space_(space), count_only_(count_only), left_(limit), visit_(visit) {
        result_.energy_j = result_.latency_s = result_.edp_js = result_.unshared_edp_js =
            std::numeric_limits<double>::infinity();
    }

    Optimum run() {
        choose_group(0);
        return std::move(result_);
    }

private:
    void count_down() {
        if (left_-- == 0) {
            throw TooMany("oracle: too many combinations");
        }
    }

    void choose_group(std::size_t i) {
        if (i == space_.einsums.size()) {
            if (fit(space_, groups_, shared_) == Fit::yes) {
                pair_rows();
            }
            return;
        }
        for (const auto& g : space_.einsums[i].groups) {
            count_down();
            groups_.push_back(&g);
            if (pairwise_possible()) {
                choose_group(i + 1);
            }
            groups_.pop_back();
        }
    }

    // J1 alone, to give up early.
    bool pairwise_possible() const {
        const ChainGroup& last = *groups_.back();
        for (std::size_t j = 0; j + 1 < groups_.size(); ++j) {
            for (const auto& b : last.backings) {
                const Backing* a = find_backing(*groups_[j], b.tensor);
                if (a != nullptr && (a->memory != b.memory || a->depth != b.depth ||
                                     a->line_buffer != b.line_buffer)) {
                    return false;
                }
            }
        }
        return true;
    }

    void pair_rows() {
        if (count_only_) {
            std::uint64_t n = 1;
            for (const auto* g : groups_) {
                n *= g->rows.size();
            }
            result_.combinations += n;
            return;
        }
        rows_.assign(groups_.size(), nullptr);
        choose_row(0);
    }

    void choose_row(std::size_t i) {
        if (i == groups_.size()) {
            ++result_.combinations;
            count_down();
            judge();
            return;
        }
        for (const auto& row : groups_[i]->rows) {
            rows_[i] = &row;
            choose_row(i + 1);
        }
    }

    void judge() {
        for (std::size_t m = 0; m < space_.memories.size(); ++m) {
            if (peak_bits(space_, groups_, rows_, shared_, m) > space_.memories[m].size_bits) {
                return;
            }
        }
        if (visit_ != nullptr) {
            (*visit_)({groups_, rows_, shared_});
            return;
        }
        Point p;
        std::uint64_t trees = 1;
        for (const auto* row : rows_) {
            p.energy_j += row->energy_j;
            p.latency_s += row->latency_s;
            trees *= row->count;
        }
        result_.mappings += trees;
        result_.energy_j = std::min(result_.energy_j, p.energy_j);
        result_.latency_s = std::min(result_.latency_s, p.latency_s);
        if (std::all_of(shared_.begin(), shared_.end(), [](int s) { return s == 0; })) {
            result_.unshared_edp_js = std::min(result_.unshared_edp_js, p.edp_js());
        }
        if (p.edp_js() < result_.edp_js) {
            result_.edp_js = p.edp_js();
            result_.best_edp.clear();
            for (const auto* row : rows_) {
                result_.best_edp.emplace_back(row->path, row->example);
            }
        }
        keep_if_pareto(result_.pareto, p);
    }

    const Space& space_;
    bool count_only_;
    std::uint64_t left_;
    const std::function<void(const Tree&)>* visit_;
    Groups groups_;
    std::vector<int> shared_;
    Rows rows_;
    Optimum result_;
};

// Places of the first and last user of every tensor.
void find_lives(Space& space) {
    space.life.clear();
    for (const auto& t : space.workload->tensors) {
        std::pair<int, int> life{std::numeric_limits<int>::max(), -1};
        for (int place = 0; place < static_cast<int>(space.order.size()); ++place) {
            const int e = space.order[static_cast<std::size_t>(place)];
            const auto uses = [&](const std::vector<int>& users) {
                return std::find(users.begin(), users.end(), e) != users.end();
            };
            if (uses(t.producers) || uses(t.consumers) || uses(t.previous_readers)) {
                life.first = std::min(life.first, place);
                life.second = place;
            }
        }
        space.life.push_back(life);
    }
}

void reorder(Space& space, const std::vector<int>& order) {
    std::vector<EinsumChains> einsums;
    for (const int e : order) {
        const auto place = std::find(space.order.begin(), space.order.end(), e);
        einsums.push_back(
            std::move(space.einsums[static_cast<std::size_t>(place - space.order.begin())]));
    }
    space.einsums = std::move(einsums);
    space.order = order;
    find_lives(space);
}

bool older_states_first(const Space& space, const workload::Tensor& tensor) {
    const auto place = [&](int einsum) {
        return std::find(space.order.begin(), space.order.end(), einsum) - space.order.begin();
    };
    const auto before = [&](int reader) { return place(reader) < place(tensor.producers[0]); };
    return std::all_of(tensor.previous_readers.begin(), tensor.previous_readers.end(), before) &&
           std::none_of(tensor.consumers.begin(), tensor.consumers.end(), before);
}

bool producers_first(const Space& space) {
    for (std::size_t t = 0; t < space.life.size(); ++t) {
        if (space.workload->tensors[t].state_rank >= 0) {
            if (!older_states_first(space, space.workload->tensors[t])) {
                return false;
            }
            continue;
        }
        const auto& producers = space.workload->tensors[t].producers;
        const int first = space.life[t].first;
        if (!producers.empty() &&
            std::find(producers.begin(), producers.end(),
                      space.order[static_cast<std::size_t>(first)]) == producers.end()) {
            return false;
        }
    }
    return true;
}

// Whatever some reader of some tensor asks of a producer, and what two readers in a row ask.
LineBuffer line_buffer_of(const workload::Workload& w) {
    std::set<std::pair<std::int64_t, std::int64_t>> found;  // base, prologue
    const auto bound = [&](int v) { return w.rank_variables[static_cast<std::size_t>(v)].bound; };
    for (int round = 0; round < 3; ++round) {
        auto next = found;
        for (const auto& einsum : w.einsums) {
            for (const auto& access : einsum.accesses) {
                for (const auto& rank : access.ranks) {
                    std::int64_t extent = 1;
                    for (const auto& term : rank.terms) {
                        extent += term.coefficient * (bound(term.rank_variable) - 1);
                    }
                    const bool sum = rank.terms.size() > 1 ||
                                     (rank.terms.size() == 1 && rank.terms[0].coefficient > 1);
                    for (const auto& term : rank.terms) {
                        const std::int64_t values = bound(term.rank_variable), f = term.coefficient;
                        const std::int64_t need =
                            std::max<std::int64_t>(0, extent - f * (values - 1) - f);
                        if (!sum || access.output || f < 1) {
                            continue;
                        }
                        next.emplace(f * values, need);
                        for (const auto& [base, prologue] : found) {
                            if (base <= values && values <= base + prologue) {
                                next.emplace(f * base, f * prologue + need);
                            }
                        }
                    }
                }
            }
        }
        found = next;
    }
    LineBuffer line_buffer;
    for (const auto& [base, prologue] : found) {
        line_buffer.prologues.push_back({base, prologue});
    }
    for (const auto& einsum : w.einsums) {
        for (const auto& access : einsum.accesses) {
            for (const auto& rank : access.ranks) {
                const auto& terms = rank.terms;
                if (!access.output &&
                    (terms.size() > 1 || (terms.size() == 1 && terms[0].coefficient > 1))) {
                    line_buffer.overlap.emplace(access.tensor, rank.rank);
                }
            }
        }
    }
    return line_buffer;
}

}  // namespace

Space make_space(const model::Problem& problem, const mapspace::MapSpaceOptions& options,
                 std::uint64_t chain_limit, bool busy) {
    Space space;
    space.workload = problem.workload;
    space.reference_rules = problem.compat == arch::Compat::accelforge;
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        space.order.push_back(e);
    }
    find_lives(space);
    std::vector<std::vector<arch::Path>> paths;
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        paths.emplace_back();
        for (const auto& compute : problem.architecture->compute_names()) {
            arch::Path path =
                problem.architecture->path(*problem.workload, e, compute, problem.compat);
            if (path.compute().enabled) {
                paths.back().push_back(std::move(path));
            }
        }
        for (const auto& path : paths.back()) {
            for (const auto& level : path.levels) {
                const auto& names = space.components;
                if (busy && std::find(names.begin(), names.end(), level.name) == names.end()) {
                    space.components.push_back(level.name);
                }
                const bool known =
                    std::any_of(space.memories.begin(), space.memories.end(),
                                [&](const Memory& m) { return m.name == level.name; });
                if (level.kind == arch::LevelKind::memory && !known &&
                    level.size_bits < std::numeric_limits<double>::infinity()) {
                    space.memories.push_back({level.name, level.size_bits});
                }
            }
        }
    }
    const LineBuffer line_buffer = line_buffer_of(*problem.workload);
    mapspace::MapSpaceOptions of_chains = options;
    of_chains.partial_inner_tiles = space.reference_rules;
    for (auto& p : paths) {
        space.einsums.push_back(
            all_chains(std::move(p), space.memories, of_chains, chain_limit,
                       options.line_buffers ? line_buffer : LineBuffer(), space.components,
                       space.reference_rules ? Partial::average : Partial::as_it_is));
    }
    return space;
}

Fit fit(const Space& space, const Groups& groups, std::vector<int>& shared) {
    const int n = size(groups);
    const int tensors = static_cast<int>(space.life.size());
    // J2: as many shared loops as the deepest tensor that is handed on.
    shared.assign(static_cast<std::size_t>(std::max(n - 1, 0)), 0);
    for (int i = 0; i + 1 < n; ++i) {
        for (int t = 0; t < tensors; ++t) {
            if (live_across(space, t, i)) {
                auto& s = shared[static_cast<std::size_t>(i)];
                s = std::max(s, depth_of(groups, t));
            }
        }
    }
    // J3, first half of J6: a prefix ends with the deepest backing holder, so its loops are the
    // fused ones.
    for (int i = 0; i + 1 < n; ++i) {
        const auto s = static_cast<std::size_t>(shared[static_cast<std::size_t>(i)]);
        const auto& a = at(groups, i).prefix;
        const auto& b = at(groups, i + 1).prefix;
        if (a.size() < s || b.size() < s ||
            !std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(s), b.begin(),
                        same_kind)) {
            return Fit::loops;
        }
    }
    for (int i = 0; i < n; ++i) {
        for (const auto& a : at(groups, i).backings) {
            for (int j = i + 1; j < n; ++j) {
                const Backing* b = find_backing(at(groups, j), a.tensor);
                const Fit agree =
                    b == nullptr ? Fit::yes : agree_on(space, groups, shared, i, j, a, *b);
                if (agree != Fit::yes) {
                    return agree;
                }
            }
        }
        for (int t = 0; t < tensors; ++t) {
            const auto& life = space.life[static_cast<std::size_t>(t)];
            // J6, second half.
            if (space.reference_rules && life.first < i && i < life.second &&
                !hosts(space, at(groups, i), i, depth_of(groups, t))) {
                return Fit::host;
            }
        }
    }
    return Fit::yes;
}

double peak_bits(const Space& space, const Groups& groups, const Rows& rows,
                 const std::vector<int>& shared, std::size_t m) {
    double peak = 0;
    for (int leaf = 0; leaf < size(groups); ++leaf) {
        double bits = 0;
        // Reservations of this chain, and those of others above a loop that is shared with it.
        for (int j = 0; j < size(groups); ++j) {
            const int width = static_cast<int>(at(groups, j).prefix.size()) + 1;
            const int deepest = j == leaf ? width : shared_between(shared, leaf, j);
            for (int d = 0; d < std::min(deepest, width); ++d) {
                bits +=
                    rows[static_cast<std::size_t>(j)]
                        ->bits[m * static_cast<std::size_t>(width) + static_cast<std::size_t>(d)];
            }
        }
        // Fusable tensors, each once.
        for (int t = 0; t < static_cast<int>(space.life.size()); ++t) {
            const auto& life = space.life[static_cast<std::size_t>(t)];
            bool lives = life.first <= leaf && leaf <= life.second;
            double tensor_bits = 0;  // of the largest whose reservation has begun
            for (int j = 0; j < size(groups); ++j) {
                const Backing* b = find_backing(at(groups, j), t);
                if (b == nullptr || b->memory != space.memories[m].name) {
                    continue;
                }
                const bool kept = shared_between(shared, leaf, j) > b->depth || b->persistent;
                lives = lives || kept;
                if (kept || j < leaf) {
                    tensor_bits = std::max(tensor_bits, b->bits);
                }
            }
            bits += lives ? tensor_bits : 0;
        }
        peak = std::max(peak, bits);
    }
    return peak;
}

std::uint64_t combinations(const Space& space) {
    return Search(space, true).run().combinations;
}

void keep_useful_rows(Space& space) {
    const auto as_good = [](const ChainRow& a, const ChainRow& b) {
        return a.energy_j <= b.energy_j && a.latency_s <= b.latency_s &&
               std::equal(a.busy_s.begin(), a.busy_s.end(), b.busy_s.begin(),
                          std::less_equal<>()) &&
               std::equal(a.bits.begin(), a.bits.end(), b.bits.begin(), std::less_equal<>());
    };
    for (auto& einsum : space.einsums) {
        for (auto& group : einsum.groups) {
            std::vector<ChainRow> kept;
            for (ChainRow& row : group.rows) {
                if (std::none_of(kept.begin(), kept.end(),
                                 [&](const ChainRow& k) { return as_good(k, row); })) {
                    std::erase_if(kept, [&](const ChainRow& k) { return as_good(row, k); });
                    kept.push_back(std::move(row));
                }
            }
            group.rows = std::move(kept);
        }
    }
}

Optimum search(const Space& space, std::uint64_t limit) {
    return Search(space, false, limit).run();
}

void for_each_tree(const Space& space, const std::function<void(const Tree&)>& visit,
                   std::uint64_t limit) {
    Search(space, false, limit, &visit).run();
}

Optimum search_all_orders(Space space, std::uint64_t limit) {
    Optimum best = search(space, limit);
    std::vector<int> order = space.order;
    while (std::next_permutation(order.begin(), order.end())) {
        reorder(space, order);
        if (!producers_first(space)) {
            continue;
        }
        const Optimum other = search(space, limit);
        best.mappings += other.mappings;
        best.combinations += other.combinations;
        best.energy_j = std::min(best.energy_j, other.energy_j);
        best.latency_s = std::min(best.latency_s, other.latency_s);
        best.unshared_edp_js = std::min(best.unshared_edp_js, other.unshared_edp_js);
        if (other.edp_js < best.edp_js) {
            best.edp_js = other.edp_js;
            best.best_edp = other.best_edp;
        }
        for (const auto& p : other.pareto) {
            keep_if_pareto(best.pareto, p);
        }
    }
    return best;
}

}  // namespace tessera::oracle
