"""Promises of the differential tester: a seed is a program, a program is correct C, and what differs becomes small."""

from __future__ import annotations

import random
import unittest
from dataclasses import replace
from typing import ClassVar

from differential import campaign, comparison, exceptions, shrinker, types
from differential.chapters.combined import overlappable
from differential.generator import program_of
from differential.kinds import KINDS
from differential.model import Communicator, Operation, Program
from differential.runner import Outcome, parse
from differential.shrinker import Case
from differential.writer import c_of

SEEDS = range(1, 200)


def barrier(**values: object) -> Operation:
    return Operation("barrier", "world", {**KINDS["barrier"].generate(random.Random(1)), **values})


def outcome(*ranks: list[str], status: int = 0) -> Outcome:
    result = Outcome(len(ranks), status, False, "")
    for lines in ranks:
        parse(lines, result)
    return result


class Programs(unittest.TestCase):
    def test_a_seed_gives_the_same_program_each_time(self) -> None:
        for seed in (1, 77, 4321):
            self.assertEqual(program_of(seed), program_of(seed))
            self.assertEqual(c_of([program_of(seed)]), c_of([program_of(seed)]))

    def test_every_kind_of_operation_and_of_communicator_comes(self) -> None:
        programs = [program_of(seed) for seed in SEEDS]
        kinds = {operation.kind for program in programs for operation in program.all_operations()}
        self.assertEqual(kinds, set(KINDS))

    def test_braces_are_closed(self) -> None:
        for seed in SEEDS:
            text = c_of([program_of(seed)])
            self.assertEqual(text.count("{"), text.count("}"), seed)

    def test_a_wildcard_has_one_message_that_it_can_match(self) -> None:
        for seed in SEEDS:
            for operation in program_of(seed).all_operations():
                if operation.kind == "messages" and operation["order"] != sorted(operation["order"]):
                    self.assertFalse(any(message["any_tag"] for message in operation["messages"]), seed)

    def test_nothing_that_waits_is_begun_beside_others(self) -> None:
        for seed in SEEDS:
            for operation in program_of(seed).all_operations():
                for child in operation.children if operation.kind == "overlap" else ():
                    self.assertEqual(child, overlappable(child))
                    self.assertNotEqual(child.values.get("form"), "blocking")

    def test_datatypes_have_elements_and_smaller_ones_too(self) -> None:
        rng = random.Random(3)
        for _ in range(300):
            tree = types.random_tree(rng)
            self.assertTrue(types.valid(tree))
            for less in types.smaller(tree):
                self.assertGreater(types.elements_of(less), 0)


class Outcomes(unittest.TestCase):
    RIGHT: ClassVar = ["library X", "7 1 aa", "7 2 bb", "8 1 cc", "ends"]

    def test_equal_digests_are_no_difference(self) -> None:
        same = outcome(self.RIGHT, self.RIGHT)
        self.assertTrue(same.well)
        self.assertEqual(comparison.differences(same, same, [7, 8]), [])

    def test_the_first_operation_that_differs_is_named_with_its_ranks(self) -> None:
        other = [line.replace("bb", "b0").replace("cc", "c0") for line in self.RIGHT]
        found = comparison.differences(outcome(self.RIGHT, self.RIGHT), outcome(self.RIGHT, other), [7, 8])
        self.assertEqual([(d.part, d.operation) for d in found], [(7, 2), (8, 1)])
        self.assertIn("rank 1", found[0].what)

    def test_a_program_that_stops_is_named_by_its_part(self) -> None:
        stopped = outcome(self.RIGHT, self.RIGHT[:2], status=1)
        self.assertFalse(stopped.well)
        self.assertEqual(comparison.unfinished(stopped, [7, 8], {7: 2, 8: 1}), [0])
        self.assertEqual(comparison.unfinished(stopped, [7, 8], {7: 1, 8: 1}), [1])

    def test_a_rank_without_an_end_is_not_well(self) -> None:
        self.assertFalse(outcome(self.RIGHT, self.RIGHT[:-1]).well)


class Shrinking(unittest.TestCase):
    def test_what_does_not_matter_goes(self) -> None:
        """The difference is a loop of at least five barriers on two ranks or more."""

        def differs(case: Case) -> bool:
            found = [o for p in case.programs for o in p.all_operations() if o.kind == "barrier"]
            return case.ranks > 1 and any(operation["times"] >= 5 for operation in found)

        looped = barrier(times=20, form="persistent")
        programs = [program_of(seed) for seed in (1, 2)]
        whole = replace(programs[1], operations=(*programs[1].operations, Operation("threads", "", {}, (looped, barrier()))))
        small = shrinker.shrink(Case((programs[0], whole), 8), differs, 60)
        self.assertEqual(small.ranks, 2)
        self.assertEqual(len(small.programs), 1)
        (operation,) = small.programs[0].operations
        self.assertEqual((operation.kind, operation["times"], operation["form"]), ("barrier", 5, "blocking"))

    def test_a_communicator_that_does_not_matter_becomes_its_parent(self) -> None:
        made = {"c0": Communicator("split", "world", {}), "c1": Communicator("cart", "c0", {})}
        program = Program(1, made, (replace(barrier(times=1), communicator="c1"),))
        smaller = list(shrinker.smaller_programs(program))
        self.assertIn("c0", {operation.communicator for p in smaller for operation in p.operations})

    def test_every_smaller_program_can_be_written(self) -> None:
        for seed in range(1, 15):
            program = program_of(seed)
            for less in [*shrinker.smaller_programs(program), *shrinker.simpler_values(program)][::7]:
                self.assertTrue(c_of([less]))


class Exceptions(unittest.TestCase):
    ENTRY = exceptions.Exception_("x", "mpich", "1", "because", {"kind": ["barrier"], "form": "persistent", "within": "alone"})

    def test_operations_with_the_features_are_left_out_and_others_stay(self) -> None:
        out, stays = barrier(form="persistent"), barrier(form="blocking")
        program = Program(1, {}, (out, stays, Operation("threads", "", {}, (out,))))
        left = exceptions.without(program, [self.ENTRY])
        self.assertEqual([operation.kind for operation in left.operations], ["barrier", "threads"])

    def test_every_entry_of_the_list_is_complete_and_leaves_something_out(self) -> None:
        everything = [program_of(seed) for seed in range(1, 400)]
        for entry in exceptions.read():
            hits = sum(exceptions.without(program, [entry]).size() != program.size() for program in everything)
            self.assertGreater(hits, 0, entry.name)

    def test_a_program_without_operations_is_not_run(self) -> None:
        every = exceptions.Exception_("all", "either", "1", "because", {"kind": sorted(KINDS)})
        self.assertEqual(campaign.programs_of([1, 2], [every]), [])


if __name__ == "__main__":
    unittest.main()
