// Mapper `portfolio`: several mappers inside one budget. Map:
//   relay.hpp   what a member tells about itself, for the recorder of the whole
//   Members     the list of the knob
//   Portfolio   rounds; what is known goes from one member to the next
//
// Idea     in every round each member searches for its share of the round, beginning with the best
//          mappings that any of them found (Options::start). Rounds get longer by a factor of four,
//          so that the last search of a member has more than three quarters of its time, though
//          each begins anew. A dual bound that one member proves is the target of the others: who
//          reaches it ends them all (Gomes and Selman, Algorithm portfolios, 2001; growing rounds:
//          Luby and others, 1993).
// Stops    when a member proves the optimum, or the budget is used up.
// Parallel members run one after the other, each on all threads: what is found within a number of
//          evaluations depends on the seed alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <thread>

#include "relay.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/solutions.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/rng.hpp"
#include "tessera/search/watch.hpp"

namespace tessera::mapper {

namespace {

using Mappers = plugin::Registry<Mapper>;
using Strategies = plugin::Registry<search::SearchStrategy>;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Rounds of a budget: the shares of time are 1, 4, 16.
constexpr int n_rounds = 3, growth_bits = 2;
constexpr int sum_of_shares = 1 + 4 + 16;
/// The first round of a search without a limit.
constexpr double first_round_s = 2;
/// A bound that is met but for rounding is met.
constexpr double agreement = 1e-9;

struct Member {
    std::string name;
    double share = 1;  ///< of a round; they add up to 1
    bool declined = false;
    double spent_s = 0;
};

/// "ffm:2,annealing": names of mappers or strategies, with shares.
std::vector<Member> read_members(const std::string& text) {
    std::vector<Member> members;
    double sum = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        const std::size_t colon = std::min(word.find(':'), word.size());
        Member member{word.substr(0, colon)};
        if (colon < word.size()) {
            std::size_t read = 0;
            const std::string share = word.substr(colon + 1);
            try {
                member.share = std::stod(share, &read);
            } catch (const std::exception&) {
            }
            if (read == 0 || read != share.size() || !(member.share > 0 && member.share <= 1e6)) {
                throw UserError("knob 'members' of portfolio: the share of '" + word +
                                "' must be a number above 0, as in ffm:2");
            }
        }
        if (member.name == "portfolio") {
            throw UserError("knob 'members' of portfolio: it cannot be a member of itself");
        }
        if (Mappers::instance().find(member.name) == nullptr) {
            try {
                Strategies::instance().create(member.name);
            } catch (const UserError& unknown) {
                throw UserError(std::string("knob 'members' of portfolio: no mapper either: ") +
                                unknown.what());
            }
        }
        sum += member.share;
        members.push_back(std::move(member));
        at = end + 1;
    }
    for (Member& member : members) {
        member.share /= sum;
    }
    return members;
}

plugin::Owned<Mapper> make(const Member& member) {
    if (Mappers::instance().find(member.name) != nullptr) {
        return Mappers::instance().create(member.name);
    }
    return Mappers::instance().create("search", {{"strategy", member.name}});
}

bool limited(const base::Budget& b) {
    return b.max_evals > 0 || b.max_time_s > 0 || b.max_cpu_s > 0 || b.stall_evals > 0 ||
           b.target.has_value();
}

class Race {
public:
    Race(const model::Problem& problem, const model::CostModel& model, const Options& options,
         std::vector<Member> members)
        : problem_(problem),
          model_(model),
          options_(options),
          members_(std::move(members)),
          recorder_(options.recorder != nullptr ? *options.recorder : unread_),
          watch_(options.budget, options.stop, recorder_, options.metrics.size() == 1) {
        for (const Solution& known : options.start) {
            keep(known);
        }
        if (!limited(options.budget) &&
            std::none_of(members_.begin(), members_.end(),
                         [](const Member& member) { return member.name == "ffm"; })) {
            throw UserError(
                "portfolio without ffm among its members never ends by itself; give it a "
                "limit, for example --max-time 10s");
        }
    }

    Result run() {
        const double start_s = recorder_.now_s();
        try {
            for (int round = 0; !over(); ++round) {
                run_round(round);
            }
        } catch (const std::bad_alloc&) {
            if (known_.empty()) {
                throw;
            }
            watch_.end("out-of-memory");
        }
        finish();
        result_.statistics.wall_s = recorder_.now_s() - start_s;
        return std::move(result_);
    }

private:
    bool over() const {
        return watch_.stopped() || proven_;
    }

    std::uint64_t evals_left() const {
        return options_.budget.max_evals - std::min(evaluated_, options_.budget.max_evals);
    }

    /// Share of the budget that a round has.
    static double part(int round) {
        return std::ldexp(1.0, growth_bits * std::min(round, n_rounds - 1)) / sum_of_shares;
    }

    /// What a member may use of the budget in a round; the watch ends it if all is used up.
    base::Budget slice(const Member& member, int round) const {
        const base::Budget& whole = options_.budget;
        base::Budget own;
        own.gap = whole.gap;
        own.target = whole.target;
        if (bound_) {
            const double reached = *bound_ * (1 + agreement);
            own.target = std::max(own.target.value_or(reached), reached);
        }
        if (whole.max_evals > 0) {
            const double evals = static_cast<double>(whole.max_evals) * part(round) * member.share;
            own.max_evals = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(evals), 1,
                                                      std::max<std::uint64_t>(1, evals_left()));
        }
        if (whole.max_time_s > 0 || whole.max_cpu_s > 0) {
            double all_s = whole.max_time_s > 0 ? whole.max_time_s : infinity;
            if (whole.max_cpu_s > 0) {
                all_s = std::min(all_s, whole.max_cpu_s / threads());
            }
            own.max_time_s = all_s * part(round) * member.share;
        } else if (whole.max_evals == 0) {
            own.max_time_s = first_round_s * std::ldexp(1.0, growth_bits * std::min(round, 20)) * member.share;
        }
        return own;
    }

    int threads() const {
        return options_.threads > 0
                   ? options_.threads
                   : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    }

    void run_round(int round) {
        bool any = false;
        for (std::size_t i = 0; i < members_.size() && !over(); ++i) {
            if (options_.budget.max_evals > 0 && evals_left() == 0) {
                watch_.end("max-evals");
                return;
            }
            Member& member = members_[i];
            if (member.declined) {
                continue;
            }
            any = true;
            run_member(member, round, static_cast<std::uint64_t>(round) * members_.size() + i);
        }
        if (!any && !over()) {
            throw UserError(declined_);
        }
    }

    void run_member(Member& member, int round, std::uint64_t index) {
        const double from_s = recorder_.now_s();
        telemetry::Recorder own;
        own.set_metrics(recorder_.metrics());
        recorder_.begin_phase(member.name);
        try {
            telemetry::Worker& counters = recorder_.worker(
                static_cast<std::size_t>(&member - members_.data()), "portfolio:" + member.name);
            const Relay relay(own, recorder_, counters);
            Options options = options_;
            options.recorder = &own;
            options.stop = watch_.stop();
            options.budget = slice(member, round);
            options.start = known_;
            options.resume.clear();
            options.seed = search::stream_seed(options_.seed, index);
            take(member, make(member)->map(problem_, model_, options));
        } catch (const LimitReached&) {  // before it found anything
            evaluated_ += own.evaluated();
        } catch (const NoLegalMapping&) {
            throw;
        } catch (const UserError& refusal) {
            member.declined = true;
            declined_ = "no member of the portfolio takes this problem; the last one, '" +
                        member.name + "': " + refusal.what();
            recorder_.log(member.name + " takes no part: " + refusal.what(),
                          telemetry::LogLevel::warning);
        }
        recorder_.end_phase();
        member.spent_s += recorder_.now_s() - from_s;
    }

    double value(const Solution& s) const {
        return metric_value(options_.metrics.front(), s.report);
    }

    void keep(const Solution& s) {
        keep_if_better(known_, s, options_.metrics);
    }

    void take(Member& member, const Result& found) {
        Statistics& all = result_.statistics;
        evaluated_ += found.statistics.evaluated;
        all.templates = std::max(all.templates, found.statistics.templates);
        all.mapspace_size = std::max(all.mapspace_size, found.statistics.mapspace_size);
        for (const Solution& s : found.solutions) {
            keep(s);
        }
        if (found.status == Status::infeasible && member.name != "ffm") {
            // Of the mappings that it knows; others may know more.
            member.declined = true;
            declined_ = "no member of the portfolio finds a mapping; the last one, '" +
                        member.name + "', has proven that it knows none";
        } else if (found.status != Status::feasible) {
            proven_ = true;
            result_.status = found.status;
            result_.reasons = found.reasons;
            result_.later = found.later;
            all.all_orders = found.statistics.all_orders;
            all.loop_orders = found.statistics.loop_orders;
        }
        if (found.bound && options_.metrics.size() == 1) {
            if (!bound_ || *found.bound > *bound_) {
                all.all_orders = found.statistics.all_orders;
                all.loop_orders = found.statistics.loop_orders;
            }
            bound_ = std::max(bound_.value_or(*found.bound), *found.bound);
            recorder_.bound(*bound_);
        }
        if (!proven_ && bound_ && !known_.empty() &&
            value(known_.front()) <= *bound_ * (1 + agreement)) {
            proven_ = true;
            result_.status = Status::optimal;
        }
    }

    void finish() {
        if (!proven_) {
            result_.status = Status::feasible;
            result_.stopped_by = watch_.reason() != nullptr ? watch_.reason() : "";
        }
        result_.solutions = known_;
        if (bound_) {
            result_.bound = bound_;
        }
        result_.statistics.evaluated = evaluated_;
        result_.statistics.pareto = known_.size();
        result_.statistics.threads = threads();
        for (const Member& member : members_) {
            result_.statistics.phases.emplace_back(member.name, member.spent_s);
        }
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const Options& options_;
    std::vector<Member> members_;
    telemetry::Recorder unread_;
    telemetry::Recorder& recorder_;
    search::Watch watch_;
    std::vector<Solution> known_;
    std::optional<double> bound_;
    std::uint64_t evaluated_ = 0;
    bool proven_ = false;
    std::string declined_;
    Result result_;
};

}  // namespace

class Portfolio : public Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        plugin::Knob members;
        members.name = "members";
        members.standard = "ffm:2,annealing,genetic";
        members.text = "mappers or strategies, with their shares of the budget";
        return {members};
    }

    explicit Portfolio(const plugin::KnobValues& knobs) : members_(knobs.text("members")) {}

    std::string name() const override {
        return "portfolio";
    }

    Result map(const model::Problem& problem, const model::CostModel& model,
               const Options& options) override {
        if (!options.resume.empty()) {
            throw UserError("portfolio cannot go on with a run; start again with --force");
        }
        return Race(problem, model, options, read_members(members_)).run();
    }

private:
    std::string members_;
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Portfolio, "portfolio",
               "several mappers inside one budget, which share what they find",
               "Gomes and Selman, Algorithm portfolios, Artificial Intelligence 126, 2001");

}  // namespace tessera::mapper
