// Networks: gradients against finite differences, training against closed forms, and repeatable.
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tessera/base/stop.hpp"
#include "tessera/learning/network.hpp"
#include "tessera/search/rng.hpp"

using namespace tessera;
using learning::Activation;
using learning::Loss;
using learning::Network;

namespace {

constexpr std::array<Loss, 3> losses = {Loss::huber, Loss::squared, Loss::absolute};

std::vector<double> numbers(std::size_t n, double wide, search::Rng& rng) {
    std::vector<double> all(n);
    for (double& x : all) {
        x = (rng.uniform() * 2 - 1) * wide;
    }
    return all;
}

double loss_of(const Network<double>& network, const std::vector<double>& inputs,
               const std::vector<double>& wanted, Loss kind) {
    learning::Trace<double> trace;
    const auto predicted = network.forward(inputs, trace);
    std::vector<double> unused(predicted.size());
    return learning::loss<double>(kind, predicted, wanted, 1.0, unused);
}

/// Of every number the derivative, against that of central differences.
template <class Change>
void check(const std::vector<double>& derivatives, const Change& loss_with) {
    constexpr double step = 1e-6;
    for (std::size_t i = 0; i < derivatives.size(); ++i) {
        const double expected = (loss_with(i, step) - loss_with(i, -step)) / (2 * step);
        BOOST_TEST(std::abs(derivatives[i] - expected) <= 1e-4 * std::max(1.0, std::abs(expected)),
                   i << ": " << derivatives[i] << ", not " << expected);
    }
}

/// What two inputs do together: no straight line fits it.
learning::TrainingSet product_set(std::size_t n) {
    learning::TrainingSet set{2, 1, {}, {}};
    search::Rng rng(3);
    for (std::size_t i = 0; i < n; ++i) {
        const float a = static_cast<float>(rng.uniform() * 2 - 1);
        const float b = static_cast<float>(rng.uniform() * 2 - 1);
        set.inputs.insert(set.inputs.end(), {a, b});
        set.outputs.push_back(a * b);
    }
    return set;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_are_finite_differences_for_every_layer_and_loss) {
    search::Rng rng(1);
    const std::vector<std::vector<std::size_t>> shapes = {{3, 2}, {4, 6, 2}, {5, 7, 4, 6, 3}};
    for (const auto& widths : shapes) {
        for (const Loss kind : losses) {
            for (const Activation last : {Activation::linear, Activation::sigmoid}) {
                Network<double> network(widths, last, 11);
                for (double& w : network.weights()) {
                    w += (rng.uniform() - 0.5) / 4;  // biases too
                }
                constexpr std::size_t samples = 5;
                const auto inputs = numbers(samples * widths.front(), 2, rng);
                const auto wanted = numbers(samples * widths.back(), 3, rng);
                learning::Trace<double> trace;
                const auto predicted = network.forward(inputs, trace);
                std::vector<double> by_outputs(predicted.size()), by_inputs(inputs.size()),
                    by_weights(network.weights().size());
                learning::loss<double>(kind, predicted, wanted, 1.0, by_outputs);
                network.backward(trace, by_outputs, by_weights, by_inputs);
                check(by_weights, [&](std::size_t i, double by) {
                    Network<double> other = network;
                    other.weights()[i] += by;
                    return loss_of(other, inputs, wanted, kind);
                });
                check(by_inputs, [&](std::size_t i, double by) {
                    std::vector<double> other = inputs;
                    other[i] += by;
                    return loss_of(network, other, wanted, kind);
                });
            }
        }
    }
}

// Strategies make networks of millions of weights while they start.
BOOST_AUTO_TEST_CASE(a_stop_ends_the_making_of_a_network) {
    const std::atomic<bool> stop = true;
    const base::StopScope scope({&stop});
    BOOST_CHECK_THROW(learning::Network<float>({5000, 300, 1}, learning::Activation::linear, 1),
                      base::Stopped);
}

BOOST_AUTO_TEST_CASE(losses_are_what_they_are_called) {
    const std::vector<double> predicted = {0.5, 3, -2}, wanted = {0, 1, 0};
    std::vector<double> slope(3);
    BOOST_TEST(learning::loss<double>(Loss::huber, predicted, wanted, 1, slope) ==
               0.125 + 1.5 + 1.5);
    BOOST_TEST(slope == (std::vector<double>{0.5, 1, -1}), boost::test_tools::per_element());
    BOOST_TEST(learning::loss<double>(Loss::squared, predicted, wanted, 0.5, slope) ==
               0.25 + 4 + 4);
    BOOST_TEST(slope == (std::vector<double>{0.5, 2, -2}), boost::test_tools::per_element());
    BOOST_TEST(learning::loss<double>(Loss::absolute, predicted, wanted, 1, slope) == 4.5);
    BOOST_TEST(slope == (std::vector<double>{1, 1, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(float_and_double_networks_agree) {
    search::Rng rng(2);
    const Network<double> exact({6, 9, 5, 2}, Activation::linear, 4);
    const Network<float> network({6, 9, 5, 2}, Activation::linear, 4);
    const auto inputs = numbers(6 * 8, 1, rng);
    const std::vector<float> rounded(inputs.begin(), inputs.end());
    learning::Trace<double> trace;
    learning::Trace<float> rounded_trace;
    const auto expected = exact.forward(inputs, trace);
    const auto predicted = network.forward(rounded, rounded_trace);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        BOOST_TEST(std::abs(predicted[i] - expected[i]) < 1e-5);
    }
}

BOOST_AUTO_TEST_CASE(a_step_of_momentum_is_as_by_hand) {
    // y = w x + b, one sample x = 2 with y = 1, squared error: dw = 2 (y - 1) x, db = 2 (y - 1).
    Network<float> network({1, 1}, Activation::linear, 0);
    network.weights() = {1.0F, 0.5F};
    const learning::TrainingSet set{1, 1, {2.0F}, {1.0F}};
    learning::TrainOptions options;
    options.loss = Loss::squared;
    options.rate = 0.1;
    options.momentum = 0.5;
    options.drop_every = 1;
    options.drop = 0.5;
    learning::Trainer trainer(network, set, options);
    BOOST_TEST(trainer.epoch() == 1.5 * 1.5, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(network.weights()[0] == 1 - 0.1F * 6, boost::test_tools::tolerance(1e-5F));
    BOOST_TEST(network.weights()[1] == 0.5F - 0.1F * 3, boost::test_tools::tolerance(1e-5F));
    trainer.epoch();  // y = 1: no gradient, half the velocity
    BOOST_TEST(network.weights()[0] == 0.4F - 0.3F, boost::test_tools::tolerance(1e-4F));
}

BOOST_AUTO_TEST_CASE(the_first_step_of_adam_is_its_rate) {
    learning::Adam adam(0.01);
    std::vector<float> weights = {1, 1, 1};
    adam.step(weights, std::vector<float>{100, -0.001F, 0});
    BOOST_TEST(weights[0] == 0.99F, boost::test_tools::tolerance(1e-5F));
    BOOST_TEST(weights[1] == 1.01F, boost::test_tools::tolerance(1e-4F));
    BOOST_TEST(weights[2] == 1.0F);
}

BOOST_AUTO_TEST_CASE(training_learns_a_product_and_is_repeatable) {
    const learning::TrainingSet set = product_set(1000);
    const auto train = [&](std::uint64_t seed, int threads, std::size_t epochs) {
        Network<float> network({2, 24, 24, 1}, Activation::linear, seed);
        learning::TrainOptions options;
        options.seed = seed;
        options.threads = threads;
        options.batch = 200;  // several parts
        options.rate = 0.2;
        learning::Trainer trainer(network, set, options);
        for (std::size_t i = 0; i < epochs; ++i) {
            trainer.epoch();
        }
        return network;
    };
    const Network<float> learnt = train(5, 1, 60);
    const double before = learning::mean_loss(train(5, 1, 0), set, Loss::squared);
    const double after = learning::mean_loss(learnt, set, Loss::squared);
    BOOST_TEST(after < before / 20, after << ", before " << before);
    BOOST_TEST((train(5, 1, 4).weights() == train(5, 2, 4).weights()));
    BOOST_TEST((train(5, 1, 4).weights() != train(6, 1, 4).weights()));
}

BOOST_AUTO_TEST_CASE(training_that_is_resumed_is_training_that_was_not_interrupted) {
    const learning::TrainingSet set = product_set(300);
    learning::TrainOptions options;
    options.drop_every = 2;
    Network<float> whole({2, 8, 1}, Activation::linear, 1), first = whole, second = whole;
    learning::Trainer trainer(whole, set, options);
    for (int i = 0; i < 5; ++i) {
        trainer.epoch();
    }
    std::vector<float> state;
    {
        learning::Trainer begun(first, set, options);
        for (int i = 0; i < 3; ++i) {
            begun.epoch();
        }
        state = begun.save();
    }
    learning::Trainer resumed(second, set, options);
    BOOST_TEST_REQUIRE(resumed.restore(3, state));
    BOOST_TEST(resumed.epochs() == 3u);
    resumed.epoch();
    resumed.epoch();
    BOOST_TEST((second.weights() == whole.weights()));
    state.pop_back();
    BOOST_TEST(!resumed.restore(3, state));
}
