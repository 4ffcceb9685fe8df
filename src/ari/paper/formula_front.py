"""The first half of a paper about a formula: abstract, introduction, data, method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ari.findings.analysis import ablations, taken
from ari.findings.study import SEALED, Node
from ari.latex.escape import escape
from ari.paper import common, formula
from ari.paper.document import Section, Table, listed, sentence
from ari.paper.evidence import Number, printed
from ari.paper.story import Story, words

FEW_VALUES = 10
LONG_NAME = 24
"""Characters of a variable's name beyond which a table of variables needs the whole width."""

MOST_CONSTANTS = 6
TRAJECTORY_ERROR = "trajectory_error"
_ROUNDING = 1e-13


class FormulaFront:
    """Writes the first sections of one paper about a formula, and knows what the others ask too.

    Args:
        story: The study and what may be said of it.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.study = story.study
        self.marks = story.marks
        self.best = story.best
        self.target = self.marks.name(self.study.target)
        self.text = self.best.formula or ""
        self.used = self._used()
        self.unused = tuple(name for name in self.study.inputs if name not in self.used)
        self.network = self._relations()
        self.measure = self.study.primary_metric
        self.up = self.study.higher_is_better

    def _badness(self, node: Node) -> float:
        """The primary metric as an error: smaller is better, whatever its direction."""
        value = node.metrics.get(self.measure, 0.0)
        return -value if self.up else value

    def _used(self) -> tuple[str, ...]:
        from sr_harness.engine import parse, variables

        return tuple(variables(parse(self.text)))

    def _relations(self) -> tuple[str, ...]:
        from sr_harness.engine import parse, relations

        return tuple(relations(parse(self.text)))

    @property
    def exact(self) -> bool:
        """Whether no error above rounding was seen on the sealed rows, or none on any row.

        Against sealed values that hardly differ from each other, rounding alone may look like an error.
        """
        view = self.story.residuals
        if view is not None and view.exact:
            return True
        error = self.best.metrics.get(f"{SEALED}nrmse", self.best.metrics.get("nrmse", 1.0))
        return error <= _ROUNDING

    # ---------------------------------------------------------------------------------- abstract

    def abstract(self) -> list[str]:
        """What was asked, what was found, how well it holds where nobody had looked, what it needs."""
        inputs = listed([self.marks.name(name) for name in self.study.inputs])
        asked = sentence(f"We ask which formula gives {self.target} from {inputs}")
        rows = self.story.root_fact("data_rows", " from ", " rows of data")
        found = f"A search over {self._families()} found{rows} {self._inline()}"
        if self.network:
            says = "says" if len(self.network) == 1 else "say"
            found += (
                f", in which {listed([self.marks.name(r) for r in self.network])} {says} who acts on whom"
            )
        return [asked, sentence(found), self._sealed_sentence(short=True), self._needs(), self._closing()]

    def _inline(self) -> str:
        shown = formula.equation_latex(self.text, self.study.target, formula.rounded_digits(self.text))
        if len(shown) > formula.LONG:
            return f"the law of {self.marks.equation('law')}"
        return f"the law {self.marks.math(shown)}"

    def _families(self) -> str:
        names: dict[str, None] = {}
        for node in self.study.nodes:
            for strategy in node.plan.get("strategies") or ():
                names.setdefault(str(strategy))
        return f"{words(list(names))} forms" if names else "formulas"

    def _sealed_sentence(self, *, short: bool = False) -> str:
        story, best = self.story, self.best
        values = story.metric(best, f"{SEALED}n", "On ", " values that no experiment had seen")
        where = values or "On rows that no experiment had seen"
        if self.exact:
            size = story.metric(best, f"{SEALED}max_abs_error", " (largest absolute error ", ")")
            return sentence(f"{where} it leaves no error above rounding{size}")
        error = story.metric(best, f"{SEALED}{story.error}")
        if not error:
            return ""
        kind = self.marks.name(story.error) if short else story.metric_words(story.error)
        fit = story.metric(best, f"{SEALED}r2", f" and {self.marks.math('R^2')} = ")
        return sentence(f"{where} its {kind} is {error}{fit}{self._integrated()}")

    def _integrated(self) -> str:
        """The error of the sealed trajectories, where it is not the error just told."""
        if self.story.error == TRAJECTORY_ERROR:
            return ""
        return self.story.metric(
            self.best, f"{SEALED}{TRAJECTORY_ERROR}", "; integrated from its start it deviates from the "
            "measured states by ", " of their standard deviation"
        )  # fmt: skip

    def _needs(self) -> str:
        inputs = [self.marks.name(name) for name in self.used if name in self.study.inputs]
        if not self.unused:
            return sentence(f"It needs every input: {listed(inputs)}") if len(inputs) > 1 else ""
        spare = listed([self.marks.name(name) for name in self.unused])
        return sentence(f"It needs only {listed(inputs)}; {spare} {_is_are(self.unused)} not part of it")

    def _closing(self) -> str:
        worst = self._strongest_ablation()
        if worst is None:
            return ""
        node, ratio = worst
        without = taken(self.study, node).without(self.marks.raw)
        if ratio is not None and not self.up:
            return sentence(
                f"{without}, the error on the validation rows grows by a factor of {self.story.n(ratio)}"
            )
        value = self.story.metric(node, self.measure)
        named = self.marks.name(self.measure)
        return sentence(f"{without}, {named} on the validation rows is only {value}") if value else ""

    def _strongest_ablation(self) -> tuple[Node, Number | None] | None:
        nodes = [node for node in ablations(self.study) if self.measure in node.metrics]
        if not nodes:
            return None
        structural = [node for node in nodes if not taken(self.study, node).constant]
        node = max(structural or nodes, key=lambda n: (self._badness(n), -n.order))
        return node, self._ratio(node)

    def _ratio(self, node: Node) -> Number | None:
        """How often larger the error is without the part; of the reported node or of its twin."""
        for reference in self.study.nodes:
            if reference.formula == self.text:
                found = self.story.evidence.compared("relative_gain", reference.id, node.id, self.measure)
                if found is not None:
                    return found
        return None

    # ---------------------------------------------------------------------------------- introduction

    def introduction(self) -> Section:
        """The question, and by what means it is answered."""
        section = Section("Introduction", "introduction")
        section.say(*common.question_sentences(self.story, with_digits=False))
        knows = listed([self.marks.name(n) for n in self.study.inputs])
        method = (
            f"Instead of fitting a flexible predictor we search for a closed formula of {self.target} in "
            f"{knows}, which "
            f"can be read, refuted and used beyond the data {self.marks.cite('schmidt2009')}"
        )
        judged = (
            "What the search may believe is only what was measured: each candidate is parsed again from its "
            "text, its "
            "constants were fitted on one part of the rows, it was chosen on another, and what is reported "
            "was measured "
            "once on a third, sealed part"
        )
        section.say(sentence(method), sentence(judged))
        return section

    # ---------------------------------------------------------------------------------- data

    def data(self) -> Section:
        """What the study rests on."""
        section = Section("Data", "data")
        rows = self.story.root_fact("data_rows")
        parts = [
            self.story.root_fact(f"data_rows_{part}", "", f" {purpose}")
            for part, purpose in (
                ("train", "to fit constants"),
                ("validation", "to choose"),
                ("sealed", "sealed"),
            )
        ]
        split = f": {listed([part for part in parts if part])}" if all(parts) else ""
        recorded = self._blocked()
        section.say(
            *common.question_sentences(self.story, with_digits=True),
            sentence(f"The data hold {rows} usable rows of {self.target} and its inputs{split}")
            if rows
            else "",
            sentence(recorded),
            self._estimate_words(),
            self._network_words(),
            sentence(f"{self.marks.table('variables')} describes the variables"),
        )
        section.blocks.append(self._variables())
        section.blocks += self.story.take("network")
        return section

    def _blocked(self) -> str:
        divided = common.field(self.study.meta, "data", "divided_by")
        if divided in ("runs", "time"):
            what = "whole runs" if divided == "runs" else "stretches of time, the sealed one last"
            return f"The parts are {what}, because a sample between two known neighbours would be no test"
        axis = common.field(self.study.meta, "data", "axis") or "row"
        if "trajectory" in self.story.figures:
            return (
                f"They were cut in blocks along {self.marks.name(axis)}, the sealed rows last, because a "
                f"row between "
                f"two known neighbours would be no test"
            )
        return "They were divided at random, by the seed of the study"

    def _estimate_words(self) -> str:
        """That a derivative was not measured, and how it was estimated."""
        if self.study.estimated is None:
            return ""
        state, _, time = self.study.estimated.partition(" along ")
        return sentence(
            f"{self.target} was not measured but estimated as the slope of {self.marks.name(state)} along "
            f"{self.marks.name(time)}, by local polynomials whose degree and width cross-validation chose "
            f"{self.marks.cite('savitzky1964')}, in each part from the samples of that part alone"
        )

    def _network_words(self) -> str:
        if not self.network:
            return ""
        relation = listed([self.marks.name(r) for r in self.network])
        networks = "network" if len(self.network) == 1 else "networks"
        seen = self.story.see("network")
        return sentence(
            f"They lie on the nodes of the {networks} {relation}{f', shown in {seen}' if seen else ''}"
        )

    def _plain(self, value: float) -> str:
        """A number of the data, which is no claim."""
        shown = printed(value)
        return self.marks.math(shown.strip("$")) if shown.startswith("$") else shown

    def _variables(self) -> Table:
        rows = []
        for variable in self.story.variables:
            role = "target" if variable["name"] == self.study.target else "input"
            rows.append(
                [
                    self.marks.name(variable["name"]),
                    role,
                    variable["description"] or "--",
                    f"{self._plain(variable['low'])} to {self._plain(variable['high'])}",
                ]
            )
        return Table(
            "variables",
            "The variables and their ranges in all rows.",
            ["name", "role", "meaning", "range"],
            rows,
            "llYr",
            wide=any(len(escape(str(v["name"])).text) > LONG_NAME for v in self.story.variables),
        )

    # ---------------------------------------------------------------------------------- method

    def method(self) -> Section:
        """What was done, in the order in which it was done."""
        section = Section("Method", "method")
        section.say(*self._hypotheses())
        section.say(*self._strategies())
        section.say(*self._judgement())
        return section

    def _hypotheses(self) -> list[str]:
        followed: dict[str, list[Node]] = {}
        for node in self.study.nodes:
            index = node.plan.get("idea_index")
            if node.label == "draft" and isinstance(index, int) and 0 <= index < len(self.study.ideas):
                followed.setdefault(str(self.study.ideas[index].get("title", "")).lower(), []).append(node)
        if not followed:
            return []
        titles = list(followed)
        plan = _hypothesis(self.study.ideas, titles[0])
        began = f"{_article(titles[0])} {titles[0]}{f', that {plan}' if plan else ''}"
        first = f"The search began with the hypothesis of {began}"
        rest = f"Later it tried {listed([f'{self._article(t)}' for t in titles[1:]])}" if titles[1:] else ""
        never = [str(i.get("title", "")).lower() for i in self.study.ideas]
        never = [title for title in never if title not in followed]
        left = (
            f"Not reached within the budget {'was' if len(never) == 1 else 'were'} {listed(never)}"
            if never
            else ""
        )
        return [sentence(first), sentence(rest) if rest else "", sentence(left) if left else ""]

    def _article(self, title: str) -> str:
        nodes = [n for n in self.study.nodes if n.label == "draft" and self._title(n) == title]
        return f"{title} ({listed([self.marks.name(node.id) for node in nodes])})"

    def _title(self, node: Node) -> str:
        index = node.plan.get("idea_index")
        if not isinstance(index, int) or not 0 <= index < len(self.study.ideas):
            return ""
        return str(self.study.ideas[index].get("title", "")).lower()

    def _strategies(self) -> list[str]:
        """What each strategy that ran does, in the order of its first use."""
        order: dict[str, Node] = {}
        for node in self.study.nodes:
            for strategy in node.plan.get("strategies") or ():
                order.setdefault(str(strategy), node)
        found = []
        for strategy, node in order.items():
            words_of, keys = _STRATEGIES.get(strategy, ("", ()))
            cited = f" {self.marks.cite(*keys)}" if keys else ""
            if words_of:
                found.append(sentence(f"{words_of}{cited} ({self.story.experiment(node)})"))
        refined = [node for node in self.study.nodes if node.plan.get("refine")]
        if refined:
            found.append(
                sentence(
                    f"{self.story.experiments(refined)} refitted the constants of the parent and tried "
                    f"the "
                    f"structures next to it, with terms added, removed or exchanged"
                )
            )
        return found

    def _judgement(self) -> list[str]:
        marks, story = self.marks, self.story
        primary = story.metric_words(self.study.primary_metric)
        better = "larger is better" if self.study.higher_is_better else "smaller is better"
        found = [
            sentence(f"Candidates were compared by the {primary} on the validation rows ({better}) together "
            f"with their "
                     f"size, the number of nodes of the expression {marks.cite('rissanen1978')}")
        ]  # fmt: skip
        if self.study.estimated:
            found.append(
                "Each candidate was also integrated, with all other variables given as measured, and its "
                "trajectory compared with the measured states; both errors enter the score alike."
            )
        checks = [n for n in self.study.nodes if n.label == "validation" and n.counts]
        if checks:
            named = story.experiments(checks)
            resampled = any("ci95_low" in meta for n in checks for meta in n.metadata.values())
            boot = f", and resampled the validation rows {marks.cite('efron1979')}" if resampled else ""
            again = any("nrmse_resplit" in n.metrics for n in checks)
            what = (
                f"fitted the form again on other divisions of the rows and on the smaller targets only{boot}"
                if again
                else f"measured the same formula again{boot}"
            )
            found.append(
                sentence(f"To see whether a formula depends on one division of the data, {named} {what}")
            )
        taken = [n for n in self.study.nodes if n.label == "ablation" and n.counts]
        if taken:
            found.append(
                sentence(
                    f"To see what each part is worth, {story.experiments(taken)} took one part out and "
                    f"fitted "
                    f"the rest again"
                )
            )
        return found


def _hypothesis(ideas: Sequence[Mapping[str, Any]], title: str) -> str:
    """What the plan of an idea says under its first heading, without the final stop."""
    for idea in ideas:
        if str(idea.get("title", "")).lower() == title:
            lines = [line.strip() for line in str(idea.get("experiment_plan", "")).splitlines()]
            body = [line for line in lines if line and not line.startswith("#")]
            return body[0].rstrip(".") if body else ""
    return ""


def _article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"


def _is_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


_STRATEGIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "constant": ("The mean of the target served as the simplest rival", ()),
    "linear": ("Linear forms were fitted with as few inputs as the error allows", ()),
    "polynomial": ("Sparse polynomials were built term by term from products of the inputs", ()),
    "power_law": ("Products of powers were fitted as straight lines in logarithms, then in the original "
    "units", ()),
    "rational": ("Quotients of sparse polynomials were found through the linear equation they satisfy", ()),
    "exponential": ("Growth and decay terms had their rates scanned and their amplitudes solved for",
                    ("golub1973",)),
    "sinusoid": ("Oscillations had their frequencies scanned, their amplitudes solved for", ("golub1973",)),
    "composite": ("Short sums inside one outer function, and sums of simple functions, were enumerated", ()),
    "network": ("For the network, sums of messages over the edges were combined with terms of each node, "
    "and kept "
                "where sparse regression gave them weight", ("brunton2016",)),
    "trajectories": ("Sums of monomials were fitted in the integral form, which needs no slopes, and their "
    "constants so that integrated segments meet the measured states", ("brunton2016",)),
    "genetic": ("Free forms were evolved and their constants fitted again", ("koza1992", "burlacu2020")),
}  # fmt: skip
