// Strategy `ddpg`: deep deterministic policy gradients (Lillicrap et al., ICLR 2016), as Mind
// Mappings' appendix and HAQ (Wang et al., CVPR 2019) set it up. Map:
//   Replay    what was done and what came of it
//   Learner   actor and critic, and their slow copies
//   Ddpg      episodes: a random mapping, then `steps` changes of it
//
// Idea     The state is the mapping's vector, the action a change of each of its numbers. The
//          changed vector is projected: the nearest point of the space, repaired by the host. All
//          transitions of an episode are rewarded by what its last mapping costs, -log2, less a
//          moving average. The critic learns rewards, the actor what the critic likes.
// State    networks, replay, the episode; random numbers are streams of the seed.
// Stops    never by itself.
// Parallel one candidate at a time: the host runs islands.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "tessera/base/stop.hpp"
#include "tessera/learning/network.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/state_text.hpp"
#include "tessera/search/vector.hpp"

namespace tessera::search {

namespace {

using learning::Activation;
using Net = learning::Network<float>;

struct Transition {
    std::vector<float> state, action, next;
    float reward = 0;
    bool last = false;
};

/// The newest transitions.
class Replay {
public:
    explicit Replay(std::size_t most) : most_(most) {}
    void add(Transition t) {
        if (all_.size() < most_) {
            all_.push_back(std::move(t));
        } else {
            all_[at_++ % most_] = std::move(t);
        }
    }
    std::size_t size() const {
        return all_.size();
    }
    const Transition& any(Rng& rng) const {
        return all_[rng.below(all_.size())];
    }

    const std::vector<Transition>& all() const {
        return all_;
    }
    std::size_t replaced() const {
        return at_;
    }
    /// False: too many.
    bool restore(std::vector<Transition> all, std::size_t replaced) {
        all_ = std::move(all);
        at_ = replaced;
        return all_.size() <= most_;
    }

private:
    const std::size_t most_;
    std::size_t at_ = 0;
    std::vector<Transition> all_;
};

/// As one list of numbers each.
std::vector<float> flat(const std::vector<Transition>& transitions) {
    std::vector<float> numbers;
    for (const Transition& t : transitions) {
        for (const auto* part : {&t.state, &t.action, &t.next}) {
            numbers.insert(numbers.end(), part->begin(), part->end());
        }
        numbers.push_back(t.reward);
        numbers.push_back(t.last ? 1.0F : 0.0F);
    }
    return numbers;
}

bool read(StateReader& in, std::size_t n_state, std::size_t n_action,
          std::vector<Transition>& transitions) {
    const std::size_t each = 2 * n_state + n_action + 2;
    std::vector<float> numbers;
    if (!in.get_lists(numbers, each)) {
        return false;
    }
    transitions.clear();
    for (auto at = numbers.begin(); at != numbers.end();) {
        Transition& t = transitions.emplace_back();
        const auto take = [&](std::vector<float>& part, std::size_t n) {
            const auto end = at + static_cast<std::ptrdiff_t>(n);
            part.assign(at, end);
            at = end;
        };
        take(t.state, n_state);
        take(t.action, n_action);
        take(t.next, n_state);
        t.reward = *at++;
        t.last = *at++ != 0;
    }
    return true;
}

void follow(Net& slow, const Net& fast, float part) {
    for (std::size_t i = 0; i < slow.weights().size(); ++i) {
        slow.weights()[i] += part * (fast.weights()[i] - slow.weights()[i]);
    }
}

class Learner {
public:
    Learner(std::size_t state, std::size_t action, std::size_t width, std::uint64_t seed)
        : n_state_(state),
          n_action_(action),
          actor_({state, width, width, action}, Activation::sigmoid, stream_seed(seed, 1)),
          critic_({state + action, width, width, 1}, Activation::linear, stream_seed(seed, 2)),
          slow_actor_(actor_),
          slow_critic_(critic_) {}

    std::vector<float> act(const std::vector<float>& state) {
        const auto action = actor_.forward(state, actor_trace_);
        return {action.begin(), action.end()};
    }

    /// One batch for each network.
    void update(const Replay& replay, Rng& rng) {
        constexpr std::size_t batch = 64;
        states_.clear();
        pairs_.clear();
        nexts_.clear();
        std::vector<const Transition*> drawn;
        for (std::size_t i = 0; i < batch; ++i) {
            const Transition& t = *drawn.emplace_back(&replay.any(rng));
            states_.insert(states_.end(), t.state.begin(), t.state.end());
            nexts_.insert(nexts_.end(), t.next.begin(), t.next.end());
            pairs_.insert(pairs_.end(), t.state.begin(), t.state.end());
            pairs_.insert(pairs_.end(), t.action.begin(), t.action.end());
        }
        const auto next_actions = slow_actor_.forward(nexts_, actor_trace_);
        const auto later = slow_critic_.forward(joined(nexts_, next_actions), critic_trace_);
        std::vector<float> wanted;
        for (std::size_t i = 0; i < batch; ++i) {
            wanted.push_back(drawn[i]->reward + (drawn[i]->last ? 0.0F : later[i]));
        }
        update_critic(wanted);
        update_actor();
        constexpr float tau = 0.01F;
        follow(slow_actor_, actor_, tau);
        follow(slow_critic_, critic_, tau);
    }

    void save(StateWriter& out) const {
        for (const Net* net : {&actor_, &critic_, &slow_actor_, &slow_critic_}) {
            out.put(net->weights());
        }
        for (const learning::Adam* step : {&actor_step_, &critic_step_}) {
            out.put(step->steps());
            out.put(step->save());
        }
    }
    bool restore(StateReader& in) {
        for (Net* net : {&actor_, &critic_, &slow_actor_, &slow_critic_}) {
            if (!in.get(net->weights(), net->weights().size())) {
                return false;
            }
        }
        for (const auto& [step, net] :
             {std::pair{&actor_step_, &actor_}, std::pair{&critic_step_, &critic_}}) {
            std::uint64_t steps = 0;
            std::vector<float> state;
            const std::size_t n = 2 * net->weights().size();
            if (!in.get(steps) || !in.get_lists(state, n) || state.size() > n ||
                !step->restore(steps, state)) {
                return false;
            }
        }
        return true;
    }

private:
    const std::vector<float>& joined(const std::vector<float>& states,
                                     std::span<const float> actions) {
        both_.clear();
        const std::size_t n = states.size() / n_state_;
        for (std::size_t i = 0; i < n; ++i) {
            const auto s = states.begin() + static_cast<std::ptrdiff_t>(i * n_state_);
            const auto a = actions.begin() + static_cast<std::ptrdiff_t>(i * n_action_);
            both_.insert(both_.end(), s, s + static_cast<std::ptrdiff_t>(n_state_));
            both_.insert(both_.end(), a, a + static_cast<std::ptrdiff_t>(n_action_));
        }
        return both_;
    }

    void update_critic(const std::vector<float>& wanted) {
        const auto predicted = critic_.forward(pairs_, critic_trace_);
        std::vector<float> by_outputs(wanted.size());
        learning::loss<float>(learning::Loss::squared, predicted, wanted,
                              1.0F / static_cast<float>(wanted.size()), by_outputs);
        by_weights_.assign(critic_.weights().size(), 0.0F);
        critic_.backward(critic_trace_, by_outputs, by_weights_, {});
        critic_step_.step(critic_.weights(), by_weights_);
    }

    /// Towards actions that the critic values more.
    void update_actor() {
        const auto actions = actor_.forward(states_, actor_trace_);
        const std::size_t n = states_.size() / n_state_;
        critic_.forward(joined(states_, actions), critic_trace_);
        const std::vector<float> up(n, -1.0F / static_cast<float>(n));
        by_pairs_.resize(both_.size());
        critic_.backward(critic_trace_, up, {}, by_pairs_);
        std::vector<float> by_actions;
        for (std::size_t i = 0; i < n; ++i) {
            const auto a = by_pairs_.begin() +
                           static_cast<std::ptrdiff_t>(i * (n_state_ + n_action_) + n_state_);
            by_actions.insert(by_actions.end(), a, a + static_cast<std::ptrdiff_t>(n_action_));
        }
        by_weights_.assign(actor_.weights().size(), 0.0F);
        actor_.backward(actor_trace_, by_actions, by_weights_, {});
        actor_step_.step(actor_.weights(), by_weights_);
    }

    const std::size_t n_state_, n_action_;
    Net actor_, critic_, slow_actor_, slow_critic_;
    learning::Adam actor_step_{1e-4}, critic_step_{1e-3};
    learning::Trace<float> actor_trace_, critic_trace_;
    std::vector<float> states_, nexts_, pairs_, both_, by_weights_, by_pairs_;
};

}  // namespace

class Ddpg : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::integer("steps", 3, 1, 100000, "", "changes of an episode"),
            plugin::Knob::integer("warm_up", 20, 0, 1 << 20, "episodes",
                                  "of random changes, before anything is learnt"),
            plugin::Knob::integer("width", 64, 1, 4096, "",
                                  "of the two hidden layers; published: 300"),
            plugin::Knob::number("noise", 0.5, 0, 10, "",
                                 "deviation of the first changes from the actor's"),
            plugin::Knob::number("noise_decay", 0.99, 0.01, 1, "",
                                 "of the noise left after each episode"),
        };
    }

    explicit Ddpg(const plugin::KnobValues& knobs)
        : steps_(static_cast<std::uint64_t>(knobs.integer("steps"))),
          warm_up_(static_cast<std::uint64_t>(knobs.integer("warm_up"))),
          width_(static_cast<std::size_t>(knobs.integer("width"))),
          noise_(knobs.number("noise")),
          decay_(knobs.number("noise_decay")) {}

    std::string name() const override {
        return "ddpg";
    }
    std::size_t width() const override {
        return 1;
    }

    void start(const Space& space, std::uint64_t seed) override {
        encoding_ = std::make_unique<VectorEncoding>(space);
        n_problem_ = encoding_->n_problem();
        ranges_.clear();
        for (std::size_t k = n_problem_; k < encoding_->size(); ++k) {
            const std::string& name = encoding_->layout()[k];
            const bool loop = name.starts_with("trips ") || name.starts_with("spread ");
            ranges_.push_back(loop ? loop_range : other_range);
        }
        learner_ = std::make_unique<Learner>(encoding_->size(), ranges_.size(), width_, seed);
        replay_ = std::make_unique<Replay>(128 * steps_);
        seed_ = seed;
        moves_ = episode_ = 0;
        average_ = 0;
        vector_.clear();
        episode_done_.clear();
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        Candidate& c = batch.front();
        Rng rng(stream_seed(seed_, moves_));
        c.seed = rng.next();
        if (vector_.empty()) {
            c.how = Candidate::How::draw;
            return 1;
        }
        action_ = choose_action(rng);
        std::vector<float> changed = vector_;
        for (std::size_t k = 0; k < ranges_.size(); ++k) {
            changed[n_problem_ + k] += (action_[k] * 2 - 1) * ranges_[k];
        }
        encoding_->decode(changed, c.point);
        c.how = Candidate::How::repair;
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            ++moves_;
            if (c.outcome.legal()) {
                hear(c);
            } else if (!vector_.empty()) {
                end_episode();
            }
        }
    }

    std::string save() const override {
        StateWriter out;
        out.put(moves_);
        out.put(episode_);
        out.put(average_);
        out.put(cost_);
        out.put(vector_);
        out.put(flat(episode_done_));
        out.put(std::uint64_t{replay_->replaced()});
        out.put(flat(replay_->all()));
        learner_->save(out);
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        const std::size_t n = encoding_->size();
        std::uint64_t replaced = 0;
        std::vector<Transition> all;
        return in.get(moves_) && in.get(episode_) && in.get(average_) && in.get(cost_) &&
               in.get_lists(vector_, n) && vector_.size() <= n &&
               read(in, n, ranges_.size(), episode_done_) && episode_done_.size() < steps_ &&
               in.get(replaced) && read(in, n, ranges_.size(), all) &&
               replay_->restore(std::move(all), replaced) && learner_->restore(in) && in.ended();
    }

private:
    static constexpr float loop_range = 2, other_range = 0.5F;

    /// Numbers of a size that networks like.
    std::vector<float> state_of(const std::vector<float>& vector) const {
        std::vector<float> state = vector;
        for (std::size_t k = 0; k < state.size(); ++k) {
            state[k] /= k < n_problem_ ? 8.0F : 2 * ranges_[k - n_problem_];
        }
        return state;
    }

    /// Around the actor's, cut off at 0 and 1 by drawing anew.
    std::vector<float> choose_action(Rng& rng) {
        if (episode_ < warm_up_) {
            std::vector<float> action(ranges_.size());
            for (float& a : action) {
                a = static_cast<float>(rng.uniform());
            }
            return action;
        }
        std::vector<float> action = learner_->act(state_of(vector_));
        const double sigma = noise_ * std::pow(decay_, static_cast<double>(episode_ - warm_up_));
        for (float& a : action) {
            constexpr int most_tries = 32;
            for (int i = 0; i < most_tries && sigma > 0; ++i) {
                const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
                const double angle = 2 * std::numbers::pi * rng.uniform();
                const double x = a + sigma * radius * std::cos(angle);
                if (x >= 0 && x <= 1) {
                    a = static_cast<float>(x);
                    break;
                }
            }
        }
        return action;
    }

    void hear(const Candidate& c) {
        std::vector<float> next(encoding_->size());
        encoding_->encode(c.point, next);
        if (!vector_.empty()) {
            episode_done_.push_back({state_of(vector_), action_, state_of(next), 0, false});
            cost_ = std::log2(std::max(c.outcome.value, 1e-300));
        }
        vector_ = std::move(next);
        if (episode_done_.size() >= steps_) {
            end_episode();
        }
    }

    void end_episode() {
        vector_.clear();
        if (episode_done_.empty()) {
            return;
        }
        const double reward = -cost_;
        average_ = episode_ == 0 ? reward : 0.5 * average_ + 0.5 * reward;
        episode_done_.back().last = true;
        const std::size_t n = episode_done_.size();
        for (Transition& t : episode_done_) {
            t.reward = static_cast<float>(reward - average_);
            replay_->add(std::move(t));
        }
        episode_done_.clear();
        if (++episode_ <= warm_up_) {
            return;
        }
        Rng rng(~stream_seed(seed_, moves_));
        for (std::size_t i = 0; i < n; ++i) {
            base::poll_stop();
            learner_->update(*replay_, rng);
        }
    }

    const std::uint64_t steps_, warm_up_;
    const std::size_t width_;
    const double noise_, decay_;
    std::unique_ptr<VectorEncoding> encoding_;
    std::unique_ptr<Learner> learner_;
    std::unique_ptr<Replay> replay_;
    std::size_t n_problem_ = 0;
    std::vector<float> ranges_;  // of each number of the mapping
    std::uint64_t seed_ = 0, moves_ = 0, episode_ = 0;
    double average_ = 0, cost_ = 0;
    std::vector<float> vector_, action_;  // the mapping; empty: one is drawn next
    std::vector<Transition> episode_done_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Ddpg, "ddpg",
               "learns which changes of a mapping pay (actor and critic)",
               "Lillicrap et al., Continuous Control with Deep Reinforcement Learning, ICLR 2016; "
               "Hegde et al., Mind Mappings, ASPLOS 2021");

}  // namespace tessera::search
