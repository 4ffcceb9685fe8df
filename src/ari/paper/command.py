"""The sections of a paper about a tuned command: abstract, data, method, results, ablations, limitations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ari.findings.analysis import changes
from ari.findings.study import Node
from ari.formats.science_data import Claim
from ari.paper import common
from ari.paper.document import Code, Items, Section, Table, listed, sentence
from ari.paper.evidence import Number, note
from ari.paper.story import Story

_MACHINE = (("cpu", "the processor was"), ("compiler", "the compiler was"), ("platform", "the system was"))

SMALL_STEP = 1.05
"""A ratio below this is called small in words."""

WIDE_SPREAD = 1.25
"""Largest over smallest repeat from which the spread is called wide."""


class CommandPaper:
    """Writes the sections of one paper about the configurations of a command.

    Args:
        story: The study and what may be said of it.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.study = story.study
        self.marks = story.marks
        self.best = story.best
        self.metric = self.marks.name(self.study.primary_metric)
        self.up = self.study.higher_is_better

    # ---------------------------------------------------------------------------------- abstract

    def abstract(self) -> list[str]:
        """What was tuned, what was reached, how far that is from the start and from the ceiling."""
        return [
            self._asked(),
            self._reached(),
            self._gain(),
            self._share(),
            self._main_lever(),
            self._right(short=True),
        ]

    def _asked(self) -> str:
        names = listed([self.marks.name(name) for name in self._parameters()])
        ask = "how high" if self.up else "how low"
        return sentence(
            f"We ask {ask} {self.metric} can get by the choice of {names}"
            if names
            else f"We ask {ask} {self.metric} can get"
        )

    def _parameters(self) -> list[str]:
        known = [p.name for p in self.study.experiment.parameters] if self.study.experiment else []
        return known or list(self.best.params)

    def _reached(self) -> str:
        story = self.story
        value = story.metric(self.best, self.study.primary_metric)
        if not value:
            return ""
        times = story.metric(self.best, f"{self.study.primary_metric}_n", ", the median of ", " runs")
        return sentence(f"The best configuration measured reaches {self.metric} = {value}{times}")

    def _gain(self) -> str:
        root = self.study.root
        if root is None or root.id == self.best.id:
            return "No configuration that was tried beats the one the search started from."
        ratio = self._ratio(root, self.best)
        if ratio is None:
            return ""
        start = self.story.metric(root, self.study.primary_metric, " of ")
        word = "more" if self.up else "less"
        return sentence(f"That is {word} than the start{start} by a factor of {self.story.n(ratio)}")

    def _ratio(self, before: Node, after: Node) -> Number | None:
        """The larger of two values over the smaller, whichever way the claim states it."""
        for formula in ("relative_gain", "relative_speedup"):
            found = self.story.evidence.compared(formula, before.id, after.id, self.study.primary_metric)
            if found is not None:
                return found
        return None

    def _share(self) -> str:
        ceiling = self.study.ceiling_metric
        if ceiling is None:
            return ""
        for claim in self.story.evidence.claims("ceiling"):
            numbers = self.story.evidence.numbers_of(claim)
            share = next((n for n in numbers.values() if n.unit == "%"), None)
            most = self.story.metric(self.best, ceiling)
            if share is not None and most:
                return sentence(
                    f"It reaches {self.story.n(share)} of the ceiling {self.marks.name(ceiling)} = "
                    f"{most} measured "
                    f"beside it"
                )
        return ""

    def _main_lever(self) -> str:
        """The step on the way to the best configuration that brought the most."""
        steps = self._steps()
        helpful = [(ratio, claim) for claim, ratio in steps if ratio is not None]
        if not helpful:
            return ""
        ratio, claim = max(helpful, key=lambda pair: pair[0].value)
        names = [self.marks.name(name) for name in note(claim, "changed") or ()]
        return sentence(
            f"The largest single step was the change of {listed(names)}, a factor of {self.story.n(ratio)}"
        )

    def _steps(self) -> list[tuple[Claim, Number | None]]:
        found = []
        for claim in self.story.evidence.claims("step"):
            numbers = self.story.evidence.numbers_of(claim)
            found.append((claim, numbers.get("ratio")))
        return found

    def _right(self, *, short: bool = False) -> str:
        check = self.study.experiment.correctness if self.study.experiment else None
        if not check:
            return ""
        name = check.split()[0]
        worst = self.story.metric(self.best, name)
        if not worst:
            return ""
        if short:
            return sentence(f"The result is right to {self.marks.name(name)} = {worst}")
        return sentence(
            f"Each result was checked against a reference: the best configuration has "
            f"{self.marks.name(name)} = {worst}, and the study requires {self.marks.raw(check)}"
        )

    # ---------------------------------------------------------------------------------- introduction

    def introduction(self) -> Section:
        """The question, and by what means it is answered."""
        section = Section("Introduction", "introduction")
        section.say(*common.question_sentences(self.story, with_digits=False))
        measured = (
            "A configuration counts as better only where its own recorded runs say so: each node of the "
            "search runs the "
            "program in a contained folder, and what the program prints is read from the record, not from "
            "the agent"
        )
        against = ""
        if self.study.ceiling_metric:
            against = sentence(
                f"A number of {self.metric} alone says little, so it is set against what the machine can do "
                f"at most "
                f"{self.marks.cite('williams2009')}, measured by a program of its own in the same experiment"
            )
        section.say(sentence(measured), against)
        return section

    # ---------------------------------------------------------------------------------- data

    def data(self) -> Section:
        """The program, its parameters, and the machine."""
        section = Section("Data", "data")
        experiment = self.study.experiment
        section.say(*common.question_sentences(self.story, with_digits=True), *self._inputs())
        if experiment and experiment.parameters:
            section.say(
                sentence(
                    f"{self.marks.table('parameters')} lists the parameters and the levels that could be set"
                )
            )
            rows = [
                [self.marks.name(p.name), self.marks.raw(common_level(p.baseline)),
                 listed([self.marks.raw(common_level(v)) for v in p.levels[1:]], last="or")]
                for p in experiment.parameters
            ]  # fmt: skip
            caption = "The parameters of the command, the level the search starts from, and the others."
            section.blocks.append(
                Table("parameters", caption, ["parameter", "start", "other levels"], rows, "llY")
            )
        if experiment and experiment.command:
            section.say("The command, a name in braces standing for the level of a parameter, is")
            section.blocks.append(Code(experiment.command))
        section.say(self._machine())
        return section

    def _inputs(self) -> list[str]:
        experiment = self.study.experiment
        if experiment is None or not experiment.files:
            return []
        names = listed([self.marks.name(name) for name in experiment.files])
        return [sentence(f"The program and what it needs are in {names}, copied into every experiment")]

    def _machine(self) -> str:
        environment = self.story.evidence.context.get("environment")
        if not isinstance(environment, Mapping):
            return ""
        parts = [
            f"{label} {self.marks.raw(str(environment[key]))}"
            for key, label in _MACHINE
            if environment.get(key)
        ]  # fmt: skip
        return sentence(listed(parts)) if parts else ""

    # ---------------------------------------------------------------------------------- method

    def method(self) -> Section:
        """What was done, in the order in which it was done."""
        section = Section("Method", "method")
        section.say(*self._order(), *self._repeats())
        section.say(self._ceiling_words(), self._right())
        return section

    def _order(self) -> list[str]:
        root, marks = self.study.root, self.marks
        found = []
        if root is not None:
            found.append(
                sentence(
                    f"The search began at the first level of every parameter ({self.story.experiment(root)})"
                )
            )
        order: dict[str, list[Node]] = {}
        for node, _, name in changes(self.study):
            order.setdefault(name, []).append(node)
        if order:
            names = listed([marks.name(name) for name in order])
            found.append(
                sentence(
                    f"From there it changed one parameter at a time, first touching them in the order {names}"
                )
            )
            again = {name: nodes for name, nodes in order.items() if len(nodes) > 1}
            if again:
                returned = listed(
                    [f"{marks.name(name)} ({self.story.experiments(nodes)})" for name, nodes in again.items()]
                )
                found.append(sentence(f"Once others had changed, it came back to {returned}"))
        untouched = [name for name in self._parameters() if name not in order]
        if untouched and order:
            found.append(
                sentence(f"Never changed within the budget: {listed([marks.name(n) for n in untouched])}")
            )
        return found

    def _repeats(self) -> list[str]:
        checks = [n for n in self.study.nodes if n.label == "validation" and n.counts]
        repeats = self.story.root_fact("study_repeats")
        found = [
            sentence(
                f"Every configuration ran {repeats} times, and the median counts "
                f"{self.marks.cite('hoefler2015')}"
            )
            if repeats
            else sentence(f"Of repeated runs the median counts {self.marks.cite('hoefler2015')}")
        ]
        if checks:
            found.append(
                sentence(
                    f"{self.story.experiments(checks)} repeated the best configuration of the "
                    f"moment more "
                    f"often, to see its spread"
                )
            )
        return found

    def _ceiling_words(self) -> str:
        ceiling = self.study.experiment.ceiling if self.study.experiment else None
        if ceiling is None:
            return ""
        return sentence(
            f"Beside every configuration the ceiling {self.marks.name(ceiling.metric)} was "
            f"measured anew by "
            f"{self.marks.raw(ceiling.command)}; a value above it would not have been believed"
        )

    # ---------------------------------------------------------------------------------- results

    def results(self) -> Section:
        """What was found, and how sure it is."""
        section = Section("Results", "results")
        section.say(self._reached(), self._settings(), self._spread(self.best), self._gain(), self._share())
        section.say(*self._path())
        section.blocks += self.story.take("progress")
        section.say(*self._noise())
        return section

    def _settings(self) -> str:
        parts = [
            f"{self.marks.name(name)} = {self.story.level(self.best, name)}" for name in self.best.params
        ]
        return sentence(f"Its parameters are {listed(parts)}") if parts else ""

    def _spread(self, node: Node) -> str:
        metric = self.study.primary_metric
        low, high = (self.story.metric(node, f"{metric}_{end}") for end in ("min", "max"))
        if not (low and high):
            return ""
        text = f"Its runs lie between {low} and {high}"
        first, last = (self.story.metric(node, f"{metric}_ci95_{end}") for end in ("low", "high"))
        if first and last:
            text += f"; the interval of their mean is {first} to {last} at the 95 % confidence level"
        return sentence(text)

    def _path(self) -> list[str]:
        """The line from the root to the best node, step by step."""
        seen = self.story.see("progress")
        steps = self._steps()
        if not steps:
            return []
        found = [sentence(f"The way there{f' ({seen})' if seen else ''} took these steps")]
        for claim, ratio in steps:
            found.append(self._step(claim, ratio))
        return [text for text in found if text]

    def _step(self, claim: Claim, ratio: Number | None) -> str:
        before, after = (self.study.node(str(note(claim, key))) for key in ("from", "to"))
        if before is None or after is None:
            return ""
        names = note(claim, "changed") or ()
        moves = [
            f"{self.marks.name(name)} from {self.story.level(before, name)} to "
            f"{self.story.level(after, name)}"
            for name in names
        ]
        value = self.story.metric(after, self.study.primary_metric)
        factor = f", a factor of {self.story.n(ratio)}" if ratio is not None else ""
        better = (
            after.metrics[self.study.primary_metric] > before.metrics[self.study.primary_metric]
        ) == self.up
        verb = "brought" if better else "gave only"
        small = " and so hardly moved it" if better and ratio is not None and ratio.value < SMALL_STEP else ""
        return (
            sentence(f"Changing {listed(moves)} {verb} {self.metric} = {value}{factor}{small}")
            if value
            else ""
        )

    def _noise(self) -> list[str]:
        """What the repeats say about noise: runs that differ much, repeats that confirm or do not."""
        metric, found = self.study.primary_metric, []
        wide = []
        for node in self.study.nodes:
            notes = node.metadata.get(metric, {})
            low, high = notes.get("min"), notes.get("max")
            if node.counts and low and high and low > 0 and high / low > WIDE_SPREAD:
                wide.append(node)
        if wide:
            found.append(
                sentence(
                    f"The runs of {self.story.experiments(wide)} differ widely, so small "
                    f"differences between "
                    f"configurations are not results"
                )
            )
        else:
            found.append("The runs of each configuration agree closely.")
        for node in self.study.nodes:
            parent = self.study.node(node.parent)
            if node.label != "validation" or not node.counts or parent is None or parent.id != self.best.id:
                continue
            value = self.story.metric(node, metric)
            times = self.story.metric(node, f"{metric}_n", " over ", " runs")
            if value:
                found.append(
                    sentence(
                        f"Repeated more often{times}, the best configuration has "
                        f"{self.metric} = {value} "
                        f"({self.story.experiment(node)})"
                    )
                )
                found.append(self._spread(node))
        return [text for text in found if text]

    # ---------------------------------------------------------------------------------- ablations

    def ablation(self) -> Section:
        """What single parts are worth."""
        section = Section("Ablations", "ablations")
        claims = [c for c in self.story.evidence.claims("ablation") if note(c, "of_best")]
        texts = [text for text in (self._without(claim) for claim in claims) if text]
        seen = self.story.see("ablation")
        if texts:
            opening = sentence(
                f"What each parameter is worth shows when the best configuration is changed "
                f"in it alone"
                f"{f'; {seen} gives every change that was measured' if seen else ''}"
            )
            section.say(opening, *texts, self._unexplored(claims))
        else:
            section.say(
                sentence(
                    f"No configuration differs from the best one in a single parameter, so what each "
                    f"is worth there "
                    f"is not known{f'; {seen} shows every change on the way' if seen else ''}"
                )
            )
        section.blocks += self.story.take("ablation")
        return section

    def _without(self, claim: Claim) -> str:
        reference, node = (self.study.node(str(note(claim, key))) for key in ("reference_node", "node"))
        name = str(note(claim, "part"))
        if reference is None or node is None or name not in node.params:
            return ""
        value = self.story.metric(node, self.study.primary_metric)
        ratio = self._ratio(reference, node)
        old, new = (n.metrics[self.study.primary_metric] for n in (reference, node))
        worse = (new < old) == self.up
        factor = (
            f", {'worse' if worse else 'better'} by a factor of {self.story.n(ratio)}"
            if ratio is not None
            else ""
        )
        if max(old, new) < SMALL_STEP * min(old, new):
            factor = ", no difference that the spread would let stand"
        at = (
            f"{self.marks.name(name)} at {self.story.level(node, name)} instead of "
            f"{self.story.level(reference, name)}"
        )
        return sentence(f"With {at} it has {self.metric} = {value}{factor}") if value else ""

    def _unexplored(self, claims: Sequence[Claim]) -> str:
        told = {str(note(claim, "part")) for claim in claims}
        rest = [name for name in self._parameters() if name not in told]
        if not rest:
            return ""
        return sentence(f"Of {listed([self.marks.name(name) for name in rest])} no such pair was measured")

    # ---------------------------------------------------------------------------------- limitations

    def limitations(self) -> Section:
        """What the results do not say."""
        section = Section("Limitations", "limitations")
        section.blocks.append(Items([item for item in self._limits() if item]))
        return section

    def _limits(self) -> list[str]:
        marks, experiment = self.marks, self.study.experiment
        tried = {
            name: {str(n.params.get(name)) for n in self.study.nodes if n.counts and name in n.params}
            for name in self._parameters()
        }
        partly = [
            p.name for p in (experiment.parameters if experiment else ())
            if len(tried.get(p.name, ())) < len(p.levels)
        ]  # fmt: skip
        checks = [n for n in self.study.nodes if n.label == "validation" and n.counts]
        confirmed = any(self.study.node(n.parent) is self.best for n in checks)
        return [
            "Everything was measured on one machine; on another the order of the configurations may differ.",
            sentence(f"Not every level of {listed([marks.name(name) for name in partly])} was tried, and "
            f"parameters were "
                     f"changed one at a time, so what two of them do together is known on the way taken only")
            if partly else "",
            "" if confirmed else "The best configuration was not repeated beyond its own runs.",
            "" if self.study.ceiling_metric else "No ceiling was measured, so how much room is left is not "
            "known.",
            "" if experiment and experiment.correctness else "Whether the results are right was not checked.",
        ]  # fmt: skip

    # ---------------------------------------------------------------------------------- conclusion

    def conclusion(self) -> Section:
        """What stands at the end, and what comes next."""
        section = Section("Conclusion", "conclusion")
        worst = [name for name in self._parameters() if name in self._levers()]
        section.say(self._main_lever(), self._room(), self._next(worst))
        return section

    def _levers(self) -> set[str]:
        return {name for _, _, name in changes(self.study)}

    def _room(self) -> str:
        ceiling = self.study.ceiling_metric
        value, most = (self.best.metrics.get(n or "") for n in (self.study.primary_metric, ceiling))
        if value is None or most is None or most <= 0:
            return ""
        if value > 0.8 * most:
            return "Little room is left below the measured ceiling."
        return "Much room is left below the measured ceiling, and none of the parameters tried closes it."

    def _next(self, touched: Sequence[str]) -> str:
        untouched = [name for name in self._parameters() if name not in touched]
        if untouched:
            return sentence(
                f"What {listed([self.marks.name(name) for name in untouched])} would bring is open"
            )
        return "Pairs of parameters changed together are what a longer search should try next."


def common_level(value: object) -> str:
    """A level as a table shows it."""
    return "(empty)" if value == "" else str(value)
