// FuseCU's arrays against the bars and lines of its figures 10 and 11 and the means of its text;
// DAT's example.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

#include "support/fusecu_reference.hpp"
#include "tessera/fusecu/arrays.hpp"
#include "tessera/fusecu/dat.hpp"

namespace fusecu = tessera::fusecu;
using fusecu::Array;

namespace {

Array array_named(const std::string& name) {
    for (const Array array : fusecu::arrays) {
        if (name == fusecu::name(array)) {
            return array;
        }
    }
    throw std::runtime_error("no array " + name);
}

fusecu::Model model_of(const std::string& name_or_tokens) {
    for (const fusecu::Model& model : fusecu::models()) {
        if (model.name == name_or_tokens) {
            return model;
        }
    }
    return {"LLaMA2", 32, std::stoll(name_or_tokens), 4096};
}

/// Checks every row of a figure; how many bars there are.
int compare(const std::string& file, const std::string& traffic_exception, double its_tolerance) {
    int bars = 0;
    for (const std::vector<std::string>& row : tessera::test::fusecu_rows(file)) {
        const fusecu::Model model = model_of(row.at(0));
        const fusecu::LayerCost cost = layer_cost(model, array_named(row.at(1)));
        const double traffic = static_cast<double>(cost.traffic_words) /
                               static_cast<double>(layer_cost(model, Array::tpu_v4i).traffic_words);
        const std::string bar = row.at(0) + " " + row.at(1);
        const double tolerance = bar == traffic_exception ? its_tolerance : 0.01;
        BOOST_TEST(std::abs(traffic - std::stod(row.at(2))) < tolerance,
                   bar << ": traffic " << traffic << ", published " << row.at(2));
        // The paper's lines bend at GPT-2: its two arrays without fusion are lower than ours by
        // .02.
        const bool lower = bar == "GPT-2 Planaria" || bar == "GPT-2 UnfCU";
        BOOST_TEST(std::abs(cost.utilisation - std::stod(row.at(3))) < (lower ? 0.02 : 0.01),
                   bar << ": utilisation " << cost.utilisation << ", published " << row.at(3));
        ++bars;
    }
    return bars;
}

double mean(const std::function<double(const fusecu::Model&)>& value) {
    double sum = 0;
    for (const fusecu::Model& model : fusecu::models()) {
        sum += value(model);
    }
    return sum / static_cast<double>(fusecu::models().size());
}

double saving_percent(Array array, Array over) {
    return 100 * mean([&](const fusecu::Model& model) {
               return 1 - static_cast<double>(layer_cost(model, array).traffic_words) /
                              static_cast<double>(layer_cost(model, over).traffic_words);
           });
}

double speed_up(Array over) {
    return mean([&](const fusecu::Model& model) {
        return layer_cost(model, Array::fusecu).utilisation / layer_cost(model, over).utilisation;
    });
}

void check_near(double ours, double published, double tolerance) {
    BOOST_TEST(std::abs(ours - published) < tolerance, ours << ", published " << published);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fusecu_figure_10) {
    BOOST_TEST(compare("fig10.csv", "", 0) == 35);
}

BOOST_AUTO_TEST_CASE(fusecu_figure_11) {
    BOOST_TEST(compare("fig11.csv", "16384 Gemmini", 0.018) == 35);
}

BOOST_AUTO_TEST_CASE(fusecu_mean_savings_and_speed_ups) {
    check_near(saving_percent(Array::fusecu, Array::tpu_v4i), 63.6, 0.5);
    check_near(saving_percent(Array::fusecu, Array::gemmini), 62.4, 0.5);
    check_near(saving_percent(Array::fusecu, Array::planaria), 38.7, 0.5);
    check_near(saving_percent(Array::unfcu, Array::tpu_v4i), 42.6, 0.5);
    check_near(saving_percent(Array::unfcu, Array::gemmini), 41.0, 0.5);
    check_near(saving_percent(Array::unfcu, Array::planaria), 4.5, 0.5);
    check_near(speed_up(Array::tpu_v4i), 1.33, 0.02);
    check_near(speed_up(Array::gemmini), 1.25, 0.02);
    check_near(speed_up(Array::planaria), 1.14, 0.02);
}

// Projections of 16 sequences, and attention whose two products are fused. Larger buffers hold what
// fuses the projections with attention, which the chain does not cover.
BOOST_AUTO_TEST_CASE(fusecu_figure_9_moves_no_more_than_dat) {
    const auto words = [](const fusecu::Model& model, std::int64_t buffer) {
        const std::int64_t depth = model.width / model.heads;
        return 3 * static_cast<double>(
                       fusecu::exact_matmul({16 * model.tokens, model.width, model.width}, buffer)
                           ->traffic_words) +
               16 * static_cast<double>(model.heads) *
                   static_cast<double>(
                       fusecu::best_chain(model.tokens, {depth, model.tokens, depth}, buffer,
                                          fusecu::Capacity::shared, fusecu::FuseRule::exact)
                           ->traffic_words);
    };
    int points = 0;
    for (const std::vector<std::string>& row : tessera::test::fusecu_rows("fig9.csv")) {
        const std::int64_t buffer = std::stoll(row.at(1));
        if (buffer <= 131072) {
            const fusecu::Model model = model_of(row.at(0));
            const double ours = words(model, buffer) / words(model, 10000);
            BOOST_TEST(ours <= std::stod(row.at(2)),
                       row.at(0) << " " << buffer << ": " << ours << ", DAT " << row.at(2));
            ++points;
        }
    }
    BOOST_TEST(points == 21);
}

// BERT, 16 sequences, 131072 words: projections apart, queries times keys fused with scores times
// values.
BOOST_AUTO_TEST_CASE(fusecu_example_of_dat) {
    constexpr std::int64_t buffer = 131072, sequences = 16, heads = 12;
    const auto projection = fusecu::dat_matmul({1024, 768, 768}, buffer);
    const auto attention = fusecu::dat_pair_words({1024, 64, 1024, 64}, buffer);
    BOOST_REQUIRE((projection && attention));
    BOOST_TEST(sequences * projection->traffic_words == 75497472);
    BOOST_TEST(sequences * heads * *attention == 50331648);
    BOOST_TEST(sequences * (3 * projection->traffic_words + heads * *attention) == 276824064);
    // Imperfect tiles move less, and count the output as often as an input.
    BOOST_TEST(fusecu::exact_matmul({1024, 768, 768}, buffer)->traffic_words <
               projection->traffic_words);
}

BOOST_AUTO_TEST_CASE(fusecu_layers_out_of_range_are_refused) {
    BOOST_CHECK_THROW((void)layer_cost({"", 3, 16, 64}, Array::fusecu), std::invalid_argument);
    BOOST_CHECK_THROW((void)layer_cost({"", 1, 0, 64}, Array::unfcu), std::invalid_argument);
}
