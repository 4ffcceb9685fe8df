"""The sections of a paper about programs that a language model wrote: what they reach, and by which steps.

They tell the same story as those about a tuned command; what differs is that a node is known by its plan and
not by the levels of parameters. Words of a plan are the model's and are quoted as machine text.
"""

from __future__ import annotations

from ari.findings.study import Node
from ari.formats.science_data import Claim
from ari.paper.command import SMALL_STEP, CommandPaper
from ari.paper.common import plan_words
from ari.paper.document import Section, listed, sentence
from ari.paper.evidence import Number, note

MAX_SOURCES = 6
"""Source files of the best experiment that the data section names."""


class CodePaper(CommandPaper):
    """Writes the sections of one paper about programs that were written during the search."""

    # ---------------------------------------------------------------------------------- abstract

    def _asked(self) -> str:
        ask = "how high" if self.up else "how low"
        return sentence(
            f"We ask {ask} {self.metric} can get, by programs that a language model wrote, ran and changed"
        )

    def _parameters(self) -> list[str]:
        return list(self.best.params)

    def _reached(self) -> str:
        return super()._reached().replace("The best configuration measured", "The best program measured", 1)

    def _gain(self) -> str:
        root = self.study.root
        if root is not None and root.id == self.best.id:
            return "No program that was tried beats the one the search started from."
        return super()._gain()

    def _main_lever(self) -> str:
        helpful = [
            (ratio, claim) for claim, ratio in self._steps() if ratio is not None and self._bettered(claim)
        ]
        if not helpful:
            return ""
        ratio, claim = max(helpful, key=lambda pair: pair[0].value)
        node = self.study.node(str(note(claim, "to")))
        if node is None:
            return ""
        return sentence(
            f"The largest single step was {self.story.experiment(node)}, planned as "
            f"{plan_words(self.story, node)}, a factor of {self.story.n(ratio)}"
        )

    def _bettered(self, claim: Claim) -> bool:
        before, after = (self.study.node(str(note(claim, key))) for key in ("from", "to"))
        metric = self.study.primary_metric
        return (
            before is not None
            and after is not None
            and (after.metrics[metric] > before.metrics[metric]) == self.up
        )

    # ---------------------------------------------------------------------------------- data

    def data(self) -> Section:
        """What was given, what was written, and the machine."""
        section = super().data()
        written = dict.fromkeys(
            str(item["path"])
            for node in reversed(self.study.lineage(self.best))
            for item in node.artifacts
            if item.get("role") == "source" and item.get("path")
        )
        shown = [self.marks.name(path) for path in list(written)[:MAX_SOURCES]]
        if shown:
            section.say(
                sentence(
                    f"The best program consists of {listed(shown)}, kept with "
                    f"{self.story.experiment(self.best)}"
                )
            )
        return section

    # ---------------------------------------------------------------------------------- method

    def _order(self) -> list[str]:
        root = self.study.root
        model = self.study.settings.get("model")
        by = f" by the model {self.marks.name(model)}" if model else ""
        found = [
            sentence(
                f"Each experiment was planned and carried out{by}, starting from the programs of its "
                "parent; every "
                "change was one node of the search"
            )
        ]
        if root is not None:
            found.append(
                sentence(
                    f"The search began with {self.story.experiment(root)}, planned as "
                    f"{plan_words(self.story, root)}"
                )
            )
        return found

    def _repeats(self) -> list[str]:
        checks = [n for n in self.study.nodes if n.label == "validation" and n.counts]
        found = [
            sentence(
                "A metric counts only as the final state of an experiment measured it: of the repeats of "
                "its last "
                f"command the median {self.marks.cite('hoefler2015')}"
            )
        ]
        if checks:
            found.append(
                sentence(
                    f"{self.story.experiments(checks)} repeated the program of the parent under other "
                    "conditions"
                )
            )
        return found

    # ---------------------------------------------------------------------------------- results

    def _settings(self) -> str:
        parts = [
            f"{self.marks.name(name)} = {self.story.level(self.best, name)}" for name in self.best.params
        ]
        return sentence(f"It is described by {listed(parts)}") if parts else ""

    def _step(self, claim: Claim, ratio: Number | None) -> str:
        before, after = (self.study.node(str(note(claim, key))) for key in ("from", "to"))
        if before is None or after is None:
            return ""
        value = self.story.metric(after, self.study.primary_metric)
        factor = f", a factor of {self.story.n(ratio)}" if ratio is not None else ""
        better = self._bettered(claim)
        small = " and so hardly moved it" if better and ratio is not None and ratio.value < SMALL_STEP else ""
        verb = "brought" if better else "gave only"
        planned = f"{self.story.experiment(after)}, planned as {plan_words(self.story, after)}"
        return sentence(f"{planned}, {verb} {self.metric} = {value}{factor}{small}") if value else ""

    # ---------------------------------------------------------------------------------- ablations

    def ablation(self) -> Section:
        """What single parts are worth, as far as nodes took them out."""
        section = Section("Ablations", "ablations")
        claims = self.story.evidence.claims("ablation")
        texts = [text for text in (self._without(claim) for claim in claims) if text]
        if texts:
            section.say("What a part is worth shows when it alone is taken out.", *texts)
        else:
            section.say("No part of a program was taken out alone, so what each is worth is not known.")
        section.blocks += self.story.take("ablation")
        return section

    def _without(self, claim: Claim) -> str:
        reference, node = (self.study.node(str(note(claim, key))) for key in ("reference_node", "node"))
        if reference is None or node is None:
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
        if 0 < max(old, new) < SMALL_STEP * min(old, new):
            factor = ", no difference that the spread would let stand"
        part = self.marks.raw(str(note(claim, "part")))
        return (
            sentence(
                f"Without {part} the program of {self.story.experiment(reference)} has {self.metric} = "
                f"{value}{factor}"
                f" ({self.story.experiment(node)})"
            )
            if value
            else ""
        )

    # ---------------------------------------------------------------------------------- limitations

    def _limits(self) -> list[str]:
        return [*super()._limits(), "The programs were written by a language model; another may find others.",
                self._declared()]  # fmt: skip

    def _declared(self) -> str:
        """What the model stated without having measured it, by name."""
        said: dict[str, list[Node]] = {}
        for node in self.study.nodes:
            declared = node.submission.get("declared")
            for name in declared if isinstance(declared, dict) else ():
                said.setdefault(str(name), []).append(node)
        if not said:
            return ""
        parts = [f"{self.marks.name(name)} ({self.story.experiments(nodes)})" for name, nodes in said.items()]
        return sentence(f"Stated by the model, measured by no run and therefore left out: {listed(parts)}")

    # ---------------------------------------------------------------------------------- conclusion

    def conclusion(self) -> Section:
        """What stands at the end."""
        section = Section("Conclusion", "conclusion")
        section.say(
            self._main_lever() or self._reached(),
            self._room(),
            "The programs stand beside this text, so what a further change brings can be measured from "
            "there.",
        )
        return section
