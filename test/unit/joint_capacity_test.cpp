// What Einsums of a point hold together in one memory, whose sizes are written here.
#include "search/join/joint_capacity.hpp"

#include <boost/test/unit_test.hpp>

using namespace tessera;

namespace {

/// Einsums that share no loops; each uses one tensor, or none.
class Chain {
public:
    struct Einsum {
        double own = 0;    ///< bits that nobody else sees
        int tensor = 0;    ///< -1: none
        double bits = 0;   ///< of the tensor
        int copy_of = -1;  ///< the tensor lies in this one's buffer
    };

    Chain(const std::vector<Einsum>& einsums, arch::Compat compat)
        : ways_(einsums.size()), links_(einsums.size()) {
        space_.problem.compat = compat;
        space_.memories = {{0, 100}};
        space_.n_tensors = 3;
        for (std::size_t e = 0; e < einsums.size(); ++e) {
            const Einsum& one = einsums[e];
            auto data = std::make_shared<search::EinsumData>();
            data->buffers.resize(1);
            if (one.copy_of >= 0) {
                data->buffers[0] = {{one.tensor, one.copy_of}};
            }
            space_.einsums.add(std::move(data));
            search::Link& link = links_[e];
            link.way = &ways_[e];
            link.pattern = &pattern_;
            link.reserved.own = {one.own};
            if (one.tensor >= 0) {
                link.reserved.outward = {{0, 0, one.tensor, one.bits}};
            }
        }
    }

    bool fits() const {
        return search::JointCapacity(space_).fits(links_);
    }
    search::Peak peak() const {
        search::JointCapacity capacity(space_);
        capacity.fits(links_);
        std::vector<search::Peak> out;
        capacity.peaks(links_, out);
        return out.at(0);
    }

private:
    search::OpenSpace::Data space_;
    search::Pattern pattern_;
    std::vector<search::Way> ways_;
    std::vector<search::Link> links_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(joint_capacity)

BOOST_AUTO_TEST_CASE(a_shared_tensor_is_as_large_as_its_largest_user_so_far) {
    const Chain grows({{92, 0, 8}, {50, 0, 10}}, arch::Compat::none);
    BOOST_TEST(grows.fits());
    BOOST_TEST(grows.peak().bits == 100);
    BOOST_TEST(grows.peak().einsum == 0u);
    BOOST_TEST(!Chain({{50, 0, 10}, {91, 0, 8}}, arch::Compat::none).fits());
    // Between its users, too.
    BOOST_TEST(Chain({{0, 0, 8}, {92, -1}, {0, 0, 10}}, arch::Compat::none).fits());
    BOOST_TEST(!Chain({{0, 0, 8}, {93, -1}, {0, 0, 10}}, arch::Compat::none).fits());
}

BOOST_AUTO_TEST_CASE(in_the_reference_a_smaller_user_makes_it_smaller) {
    const std::vector<Chain::Einsum> shrinks{{0, 0, 10}, {90, -1}, {92, 0, 8}};
    BOOST_TEST(!Chain(shrinks, arch::Compat::none).fits());
    BOOST_TEST(Chain(shrinks, arch::Compat::accelforge).fits());
    BOOST_TEST(!Chain({{0, 0, 10}, {91, -1}, {92, 0, 8}}, arch::Compat::accelforge).fits());
}

BOOST_AUTO_TEST_CASE(what_was_copied_in_one_memory_lies_in_one_buffer) {
    const auto chain = [](int copy_of) {
        return Chain({{0, 0, 10}, {0, 1, 10, copy_of}, {90, 1, 10}, {90, 0, 10}},
                     arch::Compat::none);
    };
    BOOST_TEST(chain(0).fits());
    BOOST_TEST(chain(0).peak().bits == 100);
    BOOST_TEST(!chain(-1).fits());
    BOOST_TEST(chain(-1).peak().bits == 110);
}

BOOST_AUTO_TEST_SUITE_END()
