// Running states: tensors that an Einsum writes at `m + 1` of an iterative rank. Accesses are told
// apart (state m, state m + 1, last state) and then index the rank by the iterative variable alone:
// a holder keeps one state and moves with the loop (docs/mapspace.md, iterative ranks).
//
// Map: Reader::find_states, then classify every access, merge what an update reads and writes,
// check that state m is read before and state m + 1 after it is made.

#include <algorithm>
#include <map>
#include <set>

#include "workload/raw.hpp"

namespace tessera::workload {

namespace {

constexpr const char* last_state = "last";

struct State {
    std::string rank;
    std::string variable;  ///< in the writer
    std::size_t writer = 0;
};

[[noreturn]] void fail(const Place& place, const std::string& what, const std::string& found,
                       const std::string& expected, const std::string& remedy) {
    spec::fail(place.position, place.path, {what, found, expected, remedy});
}

RawRank* rank_named(RawAccess& access, const std::string& name) {
    for (RawRank& rank : access.ranks) {
        if (rank.rank == name) {
            return &rank;
        }
    }
    return nullptr;
}

class Reader {
public:
    explicit Reader(RawWorkload& raw) : raw_(raw) {}

    void run() {
        read_names();
        find_states();
        for (std::size_t e = 0; e < raw_.einsums.size(); ++e) {
            for (RawAccess& access : raw_.einsums[e].accesses) {
                classify(e, access);
            }
            merge(raw_.einsums[e]);
            check_last(raw_.einsums[e]);
        }
        check_order();
    }

private:
    void read_names() {
        const spec::Node& node = *raw_.iterative_ranks;
        std::vector<const spec::Node*> names;
        if (node.is_sequence()) {
            for (const spec::Node& item : node.items) {
                names.push_back(&item);
            }
        } else {
            names.push_back(&node);
        }
        std::set<std::string> known;
        for (const RawEinsum& einsum : raw_.einsums) {
            for (const RawAccess& access : einsum.accesses) {
                for (const RawRank& rank : access.ranks) {
                    known.insert(rank.rank);
                }
            }
        }
        for (const spec::Node* name : names) {
            if (!name->is_scalar() || !is_rank_name(name->text)) {
                spec::fail(*name, {"the name of a rank is needed here", name->brief(), "e.g. M",
                                   "write iterative_ranks: [M]"});
            }
            if (known.count(name->text) == 0) {
                spec::fail(*name, {"no tensor has this rank", name->text, "",
                                   spec::did_you_mean(name->text, {known.begin(), known.end()})});
            }
            iterative_.insert(name->text);
        }
    }

    /// The variable of an iterative rank. \throws UserError for other expressions.
    static const std::string& variable_of(const RawRank& rank) {
        const bool one = rank.affine.terms.size() == 1 && rank.affine.terms.begin()->second == 1;
        const bool last = one && rank.affine.terms.begin()->first == last_state;
        if (!one || rank.affine.constant < 0 || rank.affine.constant > (last ? 0 : 1)) {
            fail(rank.place, "rank " + rank.rank + " is iterative: no such index", "",
                 "a rank variable v (state v), v + 1 (the state that iteration v makes) or last",
                 "");
        }
        return rank.affine.terms.begin()->first;
    }

    void find_states() {
        for (std::size_t e = 0; e < raw_.einsums.size(); ++e) {
            for (RawAccess& access : raw_.einsums[e].accesses) {
                for (const RawRank& rank : access.ranks) {
                    if (iterative_.count(rank.rank) == 0) {
                        continue;
                    }
                    const std::string& variable = variable_of(rank);
                    if (!access.output || rank.affine.constant != 1) {
                        continue;
                    }
                    const auto [known, fresh] =
                        states_.try_emplace(access.tensor, State{rank.rank, variable, e});
                    if (!fresh && known->second.writer == e) {
                        fail(rank.place, "tensor '" + access.tensor + "' has two iterative ranks",
                             "", "one", "make the other rank an ordinary one");
                    }
                }
            }
        }
    }

    void classify(std::size_t einsum, RawAccess& access) {
        const auto found = states_.find(access.tensor);
        if (found == states_.end()) {
            for (const RawRank& rank : access.ranks) {
                if (iterative_.count(rank.rank) != 0 &&
                    (rank.affine.constant != 0 || variable_of(rank) == last_state)) {
                    fail(rank.place, "tensor '" + access.tensor + "' has no running state", "",
                         "an Einsum that writes it at " + rank.rank + ": v + 1",
                         "index it by a rank variable");
                }
            }
            return;
        }
        const State& state = found->second;
        RawRank* rank = rank_named(access, state.rank);
        if (rank == nullptr) {
            return;  // the ranks of a tensor are compared later
        }
        const std::string variable = variable_of(*rank);
        const bool last = variable == last_state;
        const bool next = rank->affine.constant == 1;
        if (access.output ? !next : !last && variable != state.variable) {
            fail(rank->place,
                 "running state '" + access.tensor + "' is indexed otherwise by '" +
                     raw_.einsums[state.writer].name + "'",
                 variable,
                 state.rank + ": " + state.variable + " or last; " + state.variable +
                     " + 1 of an output",
                 "");
        }
        access.state = access.output ? StateAccess::write
                       : last        ? StateAccess::last
                       : next        ? StateAccess::next
                                     : StateAccess::previous;
        access.state_rank = state.rank;
        rank->affine.constant = 0;
        if (last) {
            rank->affine.terms = {{state.variable, 1}};
            raw_.einsums[einsum].only_last.push_back(state.variable);
        }
    }

    /// A state that is read and made by one Einsum is one access.
    static void merge(RawEinsum& einsum) {
        std::vector<RawAccess>& all = einsum.accesses;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t k = i + 1; k < all.size(); ++k) {
                if (all[k].tensor != all[i].tensor) {
                    continue;
                }
                RawAccess& written = all[i].output ? all[i] : all[k];
                const RawAccess& read = all[i].output ? all[k] : all[i];
                if (written.state != StateAccess::write || read.state != StateAccess::previous ||
                    !same_indices(written, read)) {
                    fail_twice(einsum, all[i], all[k]);
                }
                written.state = StateAccess::update;
                const RawAccess kept = written;
                renumber(einsum.equation, static_cast<int>(i), static_cast<int>(k));
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(k--));
                all[i] = kept;
            }
        }
    }

    /// Access `gone` is one with `kept`, before it.
    static void renumber(Equation& equation, int kept, int gone) {
        for (EquationPart& part : equation.parts) {
            part.access = part.access == gone  ? kept
                          : part.access > gone ? part.access - 1
                                               : part.access;
        }
    }

    static bool same_indices(const RawAccess& a, const RawAccess& b) {
        return a.ranks.size() == b.ranks.size() &&
               std::is_permutation(a.ranks.begin(), a.ranks.end(), b.ranks.begin(),
                                   [](const RawRank& x, const RawRank& y) {
                                       return x.rank == y.rank &&
                                              x.affine.terms == y.affine.terms &&
                                              x.affine.constant == y.affine.constant;
                                   });
    }

    [[noreturn]] static void fail_twice(const RawEinsum& einsum, const RawAccess& one,
                                        const RawAccess& other) {
        const bool states = one.state != StateAccess::none && !one.output && !other.output;
        fail(other.place,
             states ? "Einsum '" + einsum.name + "' reads two states of tensor '" + one.tensor +
                          "'; only one is kept"
                    : "tensor '" + one.tensor + "' occurs twice with different roles or indices",
             one.tensor, "every tensor once",
             states ? "let the Einsum that updates it hand the older one on as a second output"
                    : "remove one of the accesses");
    }

    static void check_last(RawEinsum& einsum) {
        std::vector<std::string>& last = einsum.only_last;
        std::sort(last.begin(), last.end());
        last.erase(std::unique(last.begin(), last.end()), last.end());
        for (const RawAccess& access : einsum.accesses) {
            for (const RawRank& rank : access.ranks) {
                for (const std::string& variable : last) {
                    if (rank.affine.terms.count(variable) != 0 &&
                        access.state != StateAccess::last) {
                        fail(rank.place,
                             "Einsum '" + einsum.name + "' reads a last state and runs over '" +
                                 variable + "' too",
                             access.tensor, "one of them", "make two Einsums of it");
                    }
                }
            }
        }
    }

    /// State m is gone once state m + 1 is made.
    void check_order() const {
        std::set<std::string> read;
        for (std::size_t e = 0; e < raw_.einsums.size(); ++e) {
            for (const RawAccess& access : raw_.einsums[e].accesses) {
                if (access.state == StateAccess::none || access.output) {
                    continue;
                }
                read.insert(access.tensor);
                const State& state = states_.at(access.tensor);
                const std::string writer = "Einsum '" + raw_.einsums[state.writer].name + "'";
                const bool previous = access.state == StateAccess::previous;
                if (previous && e > state.writer) {
                    fail(access.place,
                         "Einsum '" + raw_.einsums[e].name + "' reads state " + state.variable +
                             " of tensor '" + access.tensor + "' after " + writer +
                             " has made the next one of it",
                         "", "readers of the older state before the writer",
                         "move it before " + writer + ", or let that Einsum hand the older state " +
                             "on as a second output");
                }
                if (!previous && e < state.writer) {
                    fail(access.place,
                         "Einsum '" + raw_.einsums[e].name + "' reads tensor '" + access.tensor +
                             "' before " + writer + " produces it",
                         "", "producers before consumers", "move it behind " + writer);
                }
            }
        }
        for (const auto& [tensor, state] : states_) {
            if (read.count(tensor) == 0) {
                fail(raw_.einsums[state.writer].place,
                     "no other Einsum reads the running state '" + tensor + "'", "", "a reader",
                     "write it as a reduction: without rank " + state.rank);
            }
        }
    }

    RawWorkload& raw_;
    std::set<std::string> iterative_;
    std::map<std::string, State> states_;
};

}  // namespace

void resolve_states(RawWorkload& raw) {
    if (raw.iterative_ranks != nullptr) {
        Reader(raw).run();
    }
}

}  // namespace tessera::workload
