// Map: read_pair   which Einsums may be fused, and which of their ranks are M, K, L, N
//      single_step  one product
//      fused_step   one pair
//      Matching     which pairs: an Einsum has one consumer at most to be fused with, so the
//                   candidates are a forest, and the best matching is found from its leaves
//      explain      the lines for people
#include "plan.hpp"

#include <algorithm>
#include <sstream>

#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::fusecu_mapper {

namespace {

const char* const class_names[] = {"", "Single-NRA", "Two-NRA", "Three-NRA"};

/// The variables of `group` by what they index in tensor `from`, as the variables that index the
/// same ranks of tensor `to`. False: `to` has other ranks.
bool translate(const Product& from, int tensor, const Group& group, const Product& to, int other,
               Group& result) {
    const workload::LocalTensor& source = from.einsum.tensors[tensor];
    const workload::LocalTensor& target = to.einsum.tensors[other];
    for (const int variable : group.variables) {
        const int rank = source.rank_of_variable[variable];
        if (rank < 0) {
            return false;
        }
        const auto same =
            std::find_if(target.ranks.begin(), target.ranks.end(),
                         [&](const auto& r) { return r.rank == source.ranks[rank].rank; });
        if (same == target.ranks.end() || same->terms.size() != 1) {
            return false;
        }
        const int position = static_cast<int>(same - target.ranks.begin());
        const auto found =
            std::find(target.rank_of_variable.begin(), target.rank_of_variable.end(), position);
        if (found == target.rank_of_variable.end()) {
            return false;
        }
        const int local = static_cast<int>(found - target.rank_of_variable.begin());
        result.variables.push_back(local);
        result.sizes.push_back(to.einsum.rank_variables[local].bound);
    }
    return result.sizes == group.sizes;
}

bool same_variables(Group a, Group b) {
    std::sort(a.variables.begin(), a.variables.end());
    std::sort(b.variables.begin(), b.variables.end());
    return a.variables == b.variables;
}

bool plain(const Group& group) {
    return group.variables.size() <= 1;
}

}  // namespace

std::optional<Pair> read_pair(const workload::Workload& workload,
                              const std::vector<Product>& products, int first, std::string& why) {
    const Product& p = products[first];
    const workload::Tensor& tensor = workload.tensors[p.einsum.tensors[p.c].tensor];
    if (tensor.consumers.size() != 1 || tensor.producers.size() != 1) {
        why = tensor.consumers.empty() ? "" : tensor.name + " has several consumers";
        return std::nullopt;
    }
    Pair pair;
    pair.first = first;
    pair.second = tensor.consumers.front();
    const Product& q = products[pair.second];
    if (p.b < 0 || q.b < 0) {
        why = "not two products of two inputs";
        return std::nullopt;
    }
    const bool left = q.einsum.tensors[q.a].tensor == p.einsum.tensors[p.c].tensor;
    pair.c = p.c;
    pair.c_second = left ? q.a : q.b;
    pair.d = left ? q.b : q.a;
    pair.e = q.c;
    pair.m_second = q.ranks[left ? 0 : 2];
    pair.l_second = q.ranks[1];
    pair.n = q.ranks[left ? 2 : 0];
    pair.k = p.ranks[1];
    if (!translate(q, pair.c_second, pair.m_second, p, p.c, pair.m) ||
        !translate(q, pair.c_second, pair.l_second, p, p.c, pair.l) ||
        !translate(p, p.c, p.batch, q, pair.c_second, pair.batch_second)) {
        why = "the products read " + tensor.name + " in different pieces";
        return std::nullopt;
    }
    pair.batch = p.batch;
    const bool direct = same_variables(pair.m, p.ranks[0]) && same_variables(pair.l, p.ranks[2]);
    const bool crossed = same_variables(pair.m, p.ranks[2]) && same_variables(pair.l, p.ranks[0]);
    if ((!direct && !crossed) || !same_variables(pair.batch_second, q.batch)) {
        why = "the reduction over " + tensor.name + " is not one rank of its product";
        return std::nullopt;
    }
    if (!plain(pair.m) || !plain(pair.l)) {
        why = "a rank of " + tensor.name + " is several rank variables";
        return std::nullopt;
    }
    pair.a = direct ? p.a : p.b;
    pair.b = direct ? p.b : p.a;
    return pair;
}

namespace {

/// One input: every tensor moves once.
Tiling streamed(const Product& product) {
    Tiling t;
    t.innermost = 1;
    for (const std::size_t r : {0, 2}) {
        t.tile[r].shape.assign(product.ranks[r].variables.size(), 1);
        t.tile[r].passes = product.ranks[r].size();
    }
    t.traffic_words = product.words(1) + product.words(2);
    t.used_words = 2;
    t.nra_class = 3;
    return t;
}

Step single_step(const std::vector<Product>& products, int einsum, std::int64_t buffer_words,
                 const Settings& settings) {
    const Product& product = products[einsum];
    Step step;
    step.first = einsum;
    step.single = product.b < 0
                      ? std::optional(streamed(product))
                      : best_tiling(product, buffer_words, settings.rule, settings.partial);
    if (!step.single || step.single->used_words > buffer_words) {
        throw NoLegalMapping("no tiles of Einsum '" + product.einsum.name +
                             "' fit into a buffer of " + std::to_string(buffer_words) +
                             " words, which must hold one word of each tensor");
    }
    step.traffic_words = step.single->traffic_words * product.batch.size();
    return step;
}

class Matching {
public:
    Matching(const workload::Workload& workload, const std::vector<Product>& products,
             std::int64_t buffer_words, const Settings& settings)
        : products_(products), settings_(settings), n_(products.size()), why_(n_) {
        for (std::size_t e = 0; e < n_; ++e) {
            single_.push_back(single_step(products, static_cast<int>(e), buffer_words, settings));
        }
        pairs_.resize(n_);
        for (std::size_t e = 0; e < n_ && settings.fuse != fusecu::FuseRule::never; ++e) {
            propose(workload, static_cast<int>(e), buffer_words);
        }
    }

    Plan plan() {
        settle();
        std::vector<int> partner(n_, -1);  // per consumer: the producer that it is fused with
        std::vector<char> gone(n_, 0);
        // Consumers come after their producers, so the last Einsum is a root.
        for (std::size_t e = n_; e-- > 0;) {
            if (gone[e] == 0 && choice_[e] >= 0) {
                partner[e] = choice_[e];
                gone[choice_[e]] = 1;
            }
        }
        Plan plan;
        for (std::size_t e = 0; e < n_; ++e) {
            if (gone[e] == 0) {
                plan.steps.push_back(partner[e] >= 0 ? *pairs_[partner[e]] : single_[e]);
            }
        }
        for (std::size_t e = 0; e < n_; ++e) {
            plan.reasons.push_back(explain(e, gone[e] != 0));
        }
        return plan;
    }

private:
    void propose(const workload::Workload& workload, int einsum, std::int64_t buffer_words) {
        std::optional<Pair> pair = read_pair(workload, products_, einsum, why_[einsum]);
        if (!pair || pair->second <= einsum) {
            return;
        }
        const int one = single_[einsum].single->nra_class;
        const int two = single_[pair->second].single->nra_class;
        if (settings_.fuse == fusecu::FuseRule::principle_4 && one != two) {
            why_[einsum] =
                std::string("principle 4: ") + class_names[one] + " and " + class_names[two];
            return;
        }
        const std::optional<FusedTiling> fused =
            best_pair({pair->m, pair->k.size(), pair->l, pair->n.size()}, buffer_words,
                      settings_.capacity, settings_.partial);
        if (!fused) {
            why_[einsum] = "no fused tiles fit";
            return;
        }
        Step step;
        step.first = einsum;
        step.traffic_words = fused->traffic_words * pair->batch.size();
        const std::int64_t alone =
            single_[einsum].traffic_words + single_[pair->second].traffic_words;
        if (step.traffic_words >= alone) {
            why_[einsum] = "fused " + std::to_string(step.traffic_words) + " words, apart " +
                           std::to_string(alone);
            return;
        }
        step.pair = std::move(pair);
        step.fused = fused;
        pairs_[einsum] = std::move(step);
    }

    /// free_[e]: least words of the tree below e with e not fused with a producer of its own, as
    /// its consumer needs it; full_[e]: whatever e does.
    void settle() {
        free_.assign(n_, 0);
        full_.assign(n_, 0);
        choice_.assign(n_, -1);
        std::vector<std::vector<int>> producers(n_);
        for (std::size_t e = 0; e < n_; ++e) {
            free_[e] = single_[e].traffic_words;
            for (const int p : producers[e]) {
                free_[e] += full_[p];
            }
            full_[e] = free_[e];
            for (const int p : producers[e]) {
                // The pair takes the place of both; below p all is as p alone needs it.
                const std::int64_t fused = free_[e] - single_[e].traffic_words - full_[p] +
                                           free_[p] - single_[p].traffic_words +
                                           pairs_[p]->traffic_words;
                if (fused < full_[e]) {
                    full_[e] = fused;
                    choice_[e] = p;
                }
            }
            if (pairs_[e]) {
                producers[pairs_[e]->pair->second].push_back(static_cast<int>(e));
            }
        }
    }

    static std::string tile_text(const Product& product, std::size_t rank, const Tile& tile) {
        std::ostringstream text;
        for (std::size_t v = 0; v < tile.shape.size(); ++v) {
            const auto& variable = product.einsum.rank_variables[product.ranks[rank].variables[v]];
            text << " " << variable.name << " " << tile.shape[v] << "/" << variable.bound;
        }
        return text.str();
    }

    std::string explain(std::size_t e, bool fused) const {
        const Product& product = products_[e];
        std::ostringstream text;
        text << product.einsum.name << ": ";
        if (product.b < 0) {
            text << "one input, every tensor moves once; ";
        } else {
            const Tiling& t = *single_[e].single;
            text << class_names[t.nra_class] << ", "
                 << product.einsum.tensors[product.tensor(t.innermost)].name << " stays, tiles";
            for (std::size_t r = 0; r < 3; ++r) {
                if (r != t.innermost) {
                    text << tile_text(product, r, t.tile[r]);
                }
            }
            text << "; ";
        }
        text << single_[e].traffic_words << " words by itself";
        if (product.b >= 0) {
            text << "; thresholds " << thresholds(product);
        }
        if (fused) {
            text << "; fused with " << products_[pairs_[e]->pair->second].einsum.name << ", "
                 << pairs_[e]->traffic_words << " words for both";
        } else if (!why_[e].empty()) {
            text << "; not fused: " << why_[e];
        } else if (pairs_[e]) {
            text << "; not fused: another pair saves more";
        }
        return text.str();
    }

    /// Sec. III-A4: up to which buffers the paper expects Single-, then Two-NRA.
    static std::string thresholds(const Product& product) {
        std::int64_t least = product.ranks[0].size(), tensor = product.words(0);
        for (std::size_t r = 0; r < 3; ++r) {
            least = std::min(least, product.ranks[r].size());
            tensor = std::min(tensor, product.words(r));
        }
        const std::int64_t square = least * least;
        return std::to_string(square / 4) + ", " + std::to_string(square / 2) + ", " +
               std::to_string(tensor) + " words";
    }

    const std::vector<Product>& products_;
    const Settings& settings_;
    std::size_t n_;
    std::vector<Step> single_;
    std::vector<std::optional<Step>> pairs_;  ///< by producer
    std::vector<std::string> why_;            ///< by producer: why not
    std::vector<std::int64_t> free_, full_;
    std::vector<int> choice_;
};

}  // namespace

Plan best_plan(const workload::Workload& workload, const std::vector<Product>& products,
               std::int64_t buffer_words, const Settings& settings) {
    return Matching(workload, products, buffer_words, settings).plan();
}

}  // namespace tessera::fusecu_mapper
