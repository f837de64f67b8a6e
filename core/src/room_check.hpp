// RoomCheck: variables still to be placed that hang together must fit into one region of free
// nodes. Long chains against fused rings fail for no other reason, and without this test only after
// every way to wind through them has been tried.
//
// Only for graphs with adjacency masks. Candidates and placements are read from Domains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conflict.hpp"
#include "domains.hpp"

namespace gdlnn {

// Visits the variables that hang together with x over edges between `unplaced` variables; returns
// how many they are. mark(y) notes a visit, seen(y) says whether there was one.
template <class Seen, class Mark>
int visit_component(const SearchProblem &problem, const Word *unplaced, int x,
                    std::vector<std::int32_t> &stack, Seen &&seen, Mark &&mark) {
    mark(x);
    stack.assign(1, x);
    int size = 0;
    while (!stack.empty()) {
        const int y = stack.back();
        stack.pop_back();
        ++size;
        for (const Incidence &link : problem.pattern->incidences_of(y)) {
            if (seen(link.other) || !test_bit(unplaced, link.other) || !problem.has_edge(link.edge))
                continue;
            mark(link.other);
            stack.push_back(link.other);
        }
    }
    return size;
}

// RoomSurvey: the two things that the room check compares.
//
// Owns, after each number of placed variables, a region of free nodes (the largest as a rule) and
// the connected components of the unplaced variables. Both follow from those of one placement less;
// they are valid as long as the placement they were made for, which a clock shows.
class RoomSurvey {
  public:
    explicit RoomSurvey(const Domains &domains) : domains_(domains) {}

    void bind(const Pattern &pattern);
    // Notes that the variable that makes it `n_placed` has been placed, or that none has.
    void note_placement(int n_placed) { placed_at_[idx(n_placed)] = ++clock_; }
    // Brings the survey after `n_placed` variables up to date; x is the last of them.
    template <int W> void follow(int n_placed, int x);

    const Word *region(int n_placed) const { return region_.row(n_placed); }
    int region_size(int n_placed) const { return region_size_[idx(n_placed)]; }
    int n_components(int n_placed) const {
        return static_cast<int>(component_sizes_[idx(n_placed)].size());
    }
    int component(int n_placed, int x) const {
        return component_[component_row_[idx(n_placed)] * n_variables_ + idx(x)];
    }
    int component_size(int n_placed, int component) const {
        return component_sizes_[idx(n_placed)][idx(component)];
    }

  private:
    template <int W> void survey_before(int n_placed, int x);
    void split_component(int n_placed, int x);
    int name_component(const Word *unplaced, int x, int number, std::int32_t *component);
    template <int W> int flood(const Word *within, const Word *until, Word *reached);
    template <int W> int largest_region(Word *free, Word *region);
    template <int W> int region_without(int v, Word *region);

    const Domains &domains_;
    std::size_t n_variables_ = 0;
    std::int64_t clock_ = 0;
    std::vector<std::int64_t> placed_at_, made_at_; // per number of placed variables
    BitRows region_;
    std::vector<std::int32_t> region_size_;
    std::vector<std::int32_t> component_; // rows of one number per variable
    // The row of component_ that holds: one further up where no component fell apart.
    std::vector<std::size_t> component_row_;
    std::vector<std::vector<std::int32_t>> component_sizes_;

    std::vector<Word> unplaced_;                      // variables, before the last placement
    std::vector<Word> free_, reached_, fresh_, next_; // nodes
    std::vector<Word> around_;                        // free neighbors of a node
    std::vector<std::int32_t> stack_;
};

class RoomCheck {
  public:
    explicit RoomCheck(const Domains &domains) : domains_(domains), survey_(domains) {}

    void bind(const Pattern &pattern);
    void note_placement(int n_placed) { survey_.note_placement(n_placed); }
    // After x was placed as the last of `n_placed` variables: a variable on the frontier whose
    // component has less room than it needs, or -1.
    template <int W> int find_cramped(int n_placed, int x);
    // The reasons: the component with its edges, the edge that ties it to a placed variable, and
    // the variables that hold the nodes around.
    template <int W> void explain(int first, Reasons to);

  private:
    template <int W> bool has_room(int first, int needed, const Word *region, int region_size);
    template <int W> bool has_room_plainly(int first);
    template <int W> int grow_room(int size, int needed);
    const Incidence &tie(int x) const;
    int component_of(int x, Word *component);

    const Domains &domains_;
    RoomSurvey survey_;
    std::vector<Word> checked_;               // components
    std::vector<Word> members_;               // variables of a component
    std::vector<Word> room_, fresh_, around_; // nodes
    std::vector<std::int32_t> stack_;
};

} // namespace gdlnn
