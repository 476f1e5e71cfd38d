#include "predictor.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.hpp"

namespace tessera::search::gradient {

namespace {

/// What is learnt of an outcome: output edp is what the search minimises, whatever that is.
constexpr std::size_t n_outputs = 3;

float log_of(double value) {
    return static_cast<float>(std::log2(std::max(value, 1e-300)));
}

}  // namespace

Predictor::Predictor(const Space& space, const std::string& file, const OwnTraining& training,
                     std::uint64_t seed)
    : own_(training), seed_(seed) {
    if (file.empty()) {
        learning::Family family = open_others(space);
        encoding_ = std::make_unique<VectorEncoding>(space, family.layout);
        const std::vector<learning::Output> outputs = {{"energy"}, {"latency"}, {"edp"}};
        surrogate_ = std::make_unique<learning::Surrogate>(
            std::move(family), outputs, std::vector<std::size_t>{own_.width, own_.width}, seed);
        set_.n_inputs = encoding_->size();
        set_.n_outputs = n_outputs;
        return;
    }
    own_.samples = 0;
    surrogate_ = std::make_unique<learning::Surrogate>(learning::Surrogate::load(file));
    surrogate_->family().require(space, file);
    encoding_ = std::make_unique<VectorEncoding>(space, surrogate_->family().layout);
}

/// Half to twice the size. `alike`: equal bounds stay equal, as they have to where variables of
/// different Einsums run over the same rank of a tensor.
std::vector<std::int64_t> other_bounds(Rng& rng, std::vector<std::int64_t> bounds, bool alike) {
    std::map<std::int64_t, std::uint64_t> chosen;
    for (std::int64_t& bound : bounds) {
        const auto known = alike ? chosen.find(bound) : chosen.end();
        const std::uint64_t size = known != chosen.end() ? known->second : rng.below(3);
        chosen.emplace(bound, size);
        bound = size == 0 ? (bound + 1) / 2 : size == 1 ? bound : 2 * bound;
    }
    return bounds;
}

/// Others with bounds of half to twice the size. Returns the family that they are with the space.
learning::Family Predictor::open_others(const Space& space) {
    constexpr std::size_t attempts = 8;  // for each
    learning::Family family = learning::Family::of(space);
    const std::vector<std::int64_t> own = space.bounds();
    Rng rng(~seed_);
    for (std::size_t i = 0; i < attempts * own_.problems && problems_.size() < own_.problems; ++i) {
        const Space* const other = space.with_bounds(other_bounds(rng, own, i % 2 == 1));
        if (other == nullptr || other == &space || std::ranges::count(problems_, other) > 0) {
            continue;
        }
        try {
            learning::Family joint = family;
            joint.join(learning::Family::of(*other));
            family = std::move(joint);
            problems_.push_back(other);
        } catch (const UserError&) {  // at that size something else differs too
        }
    }
    for (const Space* other : problems_) {
        encodings_.emplace(other, VectorEncoding(*other, family.layout));
    }
    return family;
}

const Space* Predictor::problem_of(std::uint64_t draw) const {
    const std::uint64_t i = draw % (problems_.size() + 1);
    return i == 0 ? nullptr : problems_[i - 1];
}

void Predictor::learn(const Candidate& candidate) {
    if (own_.samples == 0) {
        return;
    }
    if (candidate.space == nullptr) {
        best_ = std::min<double>(best_, log_of(candidate.outcome.value));
    }
    if (own_.again == 0 && ready()) {
        return;
    }
    std::vector<float> vector(set_.n_inputs);
    const VectorEncoding& encoding =
        candidate.space == nullptr ? *encoding_ : encodings_.at(candidate.space);
    encoding.encode(candidate.point, vector);
    const Outcome& o = candidate.outcome;
    const float costs[n_outputs] = {log_of(o.energy_j), log_of(o.latency_s), log_of(o.value)};
    if (set_.size() < most_samples) {
        set_.inputs.insert(set_.inputs.end(), vector.begin(), vector.end());
        set_.outputs.insert(set_.outputs.end(), costs, costs + n_outputs);
    } else {
        const auto at = static_cast<std::ptrdiff_t>(seen_ % most_samples);
        std::copy(vector.begin(), vector.end(),
                  set_.inputs.begin() + at * static_cast<std::ptrdiff_t>(set_.n_inputs));
        std::copy(costs, costs + n_outputs,
                  set_.outputs.begin() + at * static_cast<std::ptrdiff_t>(n_outputs));
    }
    ++seen_;
}

void Predictor::train() {
    if (own_.samples == 0 || seen_ < trained_ + (trained_ == 0 ? own_.samples : own_.again) ||
        (trained_ > 0 && own_.again == 0)) {
        return;
    }
    if (trained_ == 0) {
        surrogate_->fit_scales(set_);
    }
    const learning::TrainingSet standardised = surrogate_->standardised(set_);
    learning::TrainOptions options;
    options.batch = 64;
    options.rate = 0.05;
    options.drop_every = std::max<std::size_t>(own_.epochs / 2, 1);
    options.seed = stream_seed(seed_, rounds_);
    learning::Trainer trainer(surrogate_->network(), standardised, options);
    while (trainer.epochs() < own_.epochs) {
        trainer.epoch();
    }
    first_ = trained_ == 0 ? seen_ : first_;
    trained_ = seen_;
    ++rounds_;
}

void Predictor::save(StateWriter& out) const {
    if (own_.samples == 0) {
        return;
    }
    for (const std::size_t number : {seen_, first_, trained_, rounds_}) {
        out.put(std::uint64_t{number});
    }
    out.put(std::isfinite(best_) ? best_ : std::numeric_limits<double>::max());
    out.put(set_.inputs);
    out.put(set_.outputs);
    out.put(surrogate_->bytes());
}

bool Predictor::restore(StateReader& in) {
    if (own_.samples == 0) {
        return true;
    }
    std::uint64_t numbers[4] = {};
    std::string bytes;
    if (!in.get(numbers[0]) || !in.get(numbers[1]) || !in.get(numbers[2]) || !in.get(numbers[3]) ||
        !in.get(best_) || !in.get_lists(set_.inputs, set_.n_inputs) ||
        !in.get_lists(set_.outputs, set_.n_outputs) || !in.get(bytes)) {
        return false;
    }
    seen_ = numbers[0];
    first_ = numbers[1];
    trained_ = numbers[2];
    rounds_ = numbers[3];
    if (set_.outputs.size() / n_outputs != set_.size() || trained_ > seen_ ||
        set_.size() > most_samples || set_.size() > seen_) {
        return false;
    }
    try {
        learning::Surrogate read = learning::Surrogate::read(bytes, "the saved state");
        if (read.family().layout != surrogate_->family().layout ||
            read.network().widths() != surrogate_->network().widths()) {
            return false;
        }
        *surrogate_ = std::move(read);
    } catch (const UserError&) {
        return false;
    }
    return true;
}

}  // namespace tessera::search::gradient
