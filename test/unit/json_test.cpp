#include "tessera/base/json.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/parsed_json.hpp"

using namespace tessera;
using base::Json;
using Read = nlohmann::ordered_json;

namespace {

/// The same random value twice: ours, and that of the library.
class Pair {
public:
    explicit Pair(std::uint64_t seed) : random_(seed) {}

    Json ours;
    Read theirs;

    void make() {
        value(0, ours, theirs);
    }

private:
    int below(int n) {
        return static_cast<int>(random_() % static_cast<unsigned>(n));
    }

    /// Any bytes, mostly plain ones.
    std::string text() {
        std::string out;
        for (int i = below(12); i > 0; --i) {
            out += static_cast<char>(below(4) == 0 ? below(256) : 'a' + below(26));
        }
        return out;
    }

    double number() {
        constexpr double edges[] = {0.0,
                                    -0.0,
                                    1.0,
                                    0.1,
                                    1e20,
                                    1e21,
                                    1e-7,
                                    123456789012345680.0,
                                    std::numeric_limits<double>::min(),
                                    std::numeric_limits<double>::max(),
                                    std::numeric_limits<double>::denorm_min(),
                                    std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
        return below(2) == 0 ? edges[static_cast<std::size_t>(below(std::size(edges)))]
                             : std::ldexp(static_cast<double>(random_()), below(200) - 160);
    }

    void value(int depth, Json& a, Read& b) {
        switch (below(depth < 4 ? 9 : 6)) {
            case 0:
                a = nullptr, b = nullptr;
                break;
            case 1:
                a = below(2) == 0;
                b = a == Json(true);
                break;
            case 2: {
                const auto v = static_cast<std::int64_t>(random_());
                a = v, b = v;
                break;
            }
            case 3: {
                const std::uint64_t v = random_();
                a = v, b = v;
                break;
            }
            case 4: {
                const double v = number();
                a = v, b = v;
                break;
            }
            case 5: {
                const std::string v = text();
                a = v, b = v;
                break;
            }
            case 6:
                a = Json::array(), b = Read::array();
                for (int i = below(4); i > 0; --i) {
                    Json x;
                    Read y;
                    value(depth + 1, x, y);
                    a.push_back(x);
                    b.push_back(y);
                }
                break;
            default:
                a = Json::object(), b = Read::object();
                for (int i = below(5); i > 0; --i) {
                    const std::string key = below(3) == 0 ? "again" : text();
                    value(depth + 1, a[key], b[key]);
                }
        }
    }

    std::mt19937_64 random_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(documents_are_spelled_as_the_library_spells_them) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Pair pair(seed);
        pair.make();
        for (const int indent : {-1, 1, 2}) {
            BOOST_REQUIRE_EQUAL(
                pair.ours.dump(indent),
                pair.theirs.dump(indent, ' ', false, Read::error_handler_t::replace));
        }
        // What is read comes back as it was, but for what is no JSON.
        const Read read = Read::parse(pair.ours.dump());
        BOOST_REQUIRE_EQUAL(base::written(read).dump(), read.dump());
        BOOST_REQUIRE((base::written(read) == base::written(Read::parse(read.dump()))));
    }
}

BOOST_AUTO_TEST_CASE(lists_of_pairs_are_objects) {
    const Json object = {{"a", 1}, {"b", {{"c", 2.5}}}, {"d", {1, 2, 3}}};
    BOOST_TEST(object.dump() == R"({"a":1,"b":{"c":2.5},"d":[1,2,3]})");
    BOOST_TEST(Json({1, "x"}).dump() == R"([1,"x"])");
    BOOST_TEST(Json::array({{"a", 1}}).dump() == R"([["a",1]])");
    BOOST_TEST(Json(std::vector<std::string>{"p", "q"}).dump() == R"(["p","q"])");
    BOOST_TEST(Json(std::map<std::string, std::string>{{"k", "v"}}).dump() == R"({"k":"v"})");
}

BOOST_AUTO_TEST_CASE(what_is_read_again_is_equal) {
    const Json json = {
        {"int", 3}, {"long", 3L}, {"negative", -3}, {"size", sizeof(int)}, {"x", 1.5}};
    BOOST_TEST((base::written(Read::parse(json.dump())) == json));
    BOOST_TEST((Json(3) == Json(3U)));
    BOOST_TEST((Json(-3) == Json(-3L)));
}

BOOST_AUTO_TEST_CASE(members_are_found_kept_in_order_and_removed) {
    Json json;
    json["z"]["inner"] = 1;
    json["a"].push_back(2);
    json["z"]["inner"] = 3;
    BOOST_TEST(json.dump() == R"({"z":{"inner":3},"a":[2]})");
    BOOST_TEST(json.contains("a"));
    json.erase("z");
    BOOST_TEST(json.dump() == R"({"a":[2]})");
    BOOST_TEST(!Json(1).contains("a"));
    BOOST_TEST((Json(2.5).number() == 2.5));
    BOOST_TEST((!Json("2.5").number()));
    BOOST_TEST(*Json("x").text() == "x");
    BOOST_TEST(json.members().front().value.dump() == "[2]");
    BOOST_TEST(json["a"].at(0).dump() == "2");
}

// What a file says is copied and written by recursion: a deep one must not end the process.
BOOST_AUTO_TEST_CASE(deep_documents_are_none) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    BOOST_TEST(!base::parsed_json(nested(200)).is_discarded());
    for (const std::size_t depth : {201, 30000, 1000000}) {
        BOOST_TEST(base::parsed_json(nested(depth)).is_discarded());
        BOOST_TEST(base::parsed_json("{\"a\": " + nested(depth) + "}").is_discarded());
    }
    BOOST_TEST(base::parsed_json("\"" + std::string(300, '[') + "\\\"[\"").is_string());
    BOOST_TEST(base::parsed_json("{\"a\": 1").is_discarded());
    BOOST_TEST(base::parsed_json("{\"a\": 1}")["a"] == 1);
}

BOOST_AUTO_TEST_SUITE_END()
