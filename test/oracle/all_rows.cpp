#include "oracle/all_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "oracle/oracle_cost.hpp"

namespace tessera::oracle {

namespace {

using mapspace::Template;
using mapspace::TemplateConstraint;

class AllRows {
public:
    AllRows(const arch::Path& path, const Template& t, const Goals& goals)
        : path_(path), t_(t), goals_(goals), nodes_(t.nodes), tiles_(t.symbols.size(), 0) {}

    AllRowsResult run() {
        assign(0);
        for (const auto& c : t_.constraints) {
            if (c.kind == TemplateConstraint::Kind::min_usage) {
                prefer_used(c);
            }
        }
        return {std::move(rows_), evaluated_};
    }

private:
    // Symbols stand in the order of their loops, so the enclosing one is known.
    void assign(std::size_t s) {
        if (s == t_.symbols.size()) {
            judge();
            return;
        }
        const auto& symbol = t_.symbols[s];
        const std::int64_t outer = symbol.outer < 0
                                       ? bound_of(path_, symbol.rank_variable)
                                       : tiles_[static_cast<std::size_t>(symbol.outer)];
        for (std::int64_t tile = 1; tile <= outer; ++tile) {
            if (outer % tile == 0) {
                tiles_[s] = tile;
                auto& node = nodes_[static_cast<std::size_t>(symbol.node)];
                node.tile = tile;
                node.symbol = -1;
                assign(s + 1);
            }
        }
    }

    double trips(int node) const {
        const auto& loop = nodes_[static_cast<std::size_t>(node)];
        std::int64_t outer = bound_of(path_, loop.rank_variable);
        for (int i = 0; i < node; ++i) {
            const auto& n = nodes_[static_cast<std::size_t>(i)];
            if (n.is_loop() && n.rank_variable == loop.rank_variable) {
                outer = n.tile;
            }
        }
        return static_cast<double>(outer) / static_cast<double>(loop.tile);
    }

    bool bounds_hold() const {
        using Op = arch::LoopBound::Op;
        return std::all_of(t_.constraints.begin(), t_.constraints.end(), [&](const auto& c) {
            double product = 1;
            for (const int node : c.loops) {
                product *= trips(node);
            }
            return c.kind != TemplateConstraint::Kind::loop_bound ||
                   (c.op == Op::equal           ? product == c.value
                    : c.op == Op::less_equal    ? product <= c.value
                    : c.op == Op::greater_equal ? product >= c.value
                    : c.op == Op::less          ? product < c.value
                                                : product > c.value);
        });
    }

    bool few_fused_loops() const {
        std::map<int, int> loops;
        for (const auto& s : t_.symbols) {
            loops[s.rank_variable] += s.fused && trips(s.node) > 1 ? 1 : 0;
        }
        return std::all_of(loops.begin(), loops.end(), [](const auto& l) { return l.second <= 1; });
    }

    void judge() {
        if (!bounds_hold() || !few_fused_loops()) {
            return;
        }
        ++evaluated_;
        const ChainCost c = cost(path_, nodes_);
        std::vector<double> bits(path_.levels.size(), 0);
        for (const auto& h : c.holders) {
            bits[static_cast<std::size_t>(h.level)] += h.bits;
        }
        for (std::size_t l = 0; l < bits.size(); ++l) {
            if (bits[l] > path_.levels[l].size_bits) {
                return;
            }
        }
        std::map<std::pair<int, int>, double> used;
        for (const auto& d : c.dims) {
            used[{d.level, d.dim}] = d.used;
            if (d.used > static_cast<double>(path_.levels[static_cast<std::size_t>(d.level)]
                                                 .spatial[static_cast<std::size_t>(d.dim)]
                                                 .fanout)) {
                return;
            }
        }
        Row row{tiles_, {}};
        if (goals_.energy) {
            row.objectives.push_back(c.energy_j());
        }
        if (goals_.latency) {
            row.objectives.push_back(c.latency_s);
        }
        if (goals_.memory >= 0) {
            row.objectives.push_back(bits[static_cast<std::size_t>(goals_.memory)]);
        }
        rows_.push_back(std::move(row));
        used_.push_back(std::move(used));
    }

    // Rows that reach the condition, else those that come closest.
    void prefer_used(const TemplateConstraint& c) {
        const double fanout = static_cast<double>(path_.levels[static_cast<std::size_t>(c.level)]
                                                      .spatial[static_cast<std::size_t>(c.dim)]
                                                      .fanout);
        double most = 0;
        for (auto& used : used_) {
            most = std::max(most, used[{c.level, c.dim}]);
        }
        std::vector<Row> rows;
        std::vector<std::map<std::pair<int, int>, double>> used;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (used_[i][{c.level, c.dim}] >= std::min(most, c.value * fanout)) {
                rows.push_back(std::move(rows_[i]));
                used.push_back(std::move(used_[i]));
            }
        }
        rows_ = std::move(rows);
        used_ = std::move(used);
    }

    const arch::Path& path_;
    const Template& t_;
    const Goals& goals_;
    mapping::Pmapping nodes_;
    std::vector<std::int64_t> tiles_;
    std::vector<Row> rows_;
    double evaluated_ = 0;
    std::vector<std::map<std::pair<int, int>, double>> used_;
};

}  // namespace

double count_rows(const arch::Path& path, const mapspace::Template& t) {
    // Chains of divisors: per prime of the bound, its exponents are spread over the loops.
    double rows = 1;
    std::map<int, int> symbols;
    for (const auto& s : t.symbols) {
        ++symbols[s.rank_variable];
    }
    for (const auto& [v, n] : symbols) {
        std::int64_t rest = bound_of(path, v);
        for (std::int64_t prime = 2; rest > 1; ++prime) {
            int power = 0;
            for (; rest % prime == 0; rest /= prime) {
                ++power;
            }
            for (int i = 1; i <= power; ++i) {
                rows = rows * (n + i) / i;
            }
        }
    }
    return rows;
}

AllRowsResult all_rows(const arch::Path& path, const mapspace::Template& t, const Goals& goals) {
    return AllRows(path, t, goals).run();
}

}  // namespace tessera::oracle
