"""The second half of a paper about a formula: results, ablations, limitations, conclusion."""

from __future__ import annotations

from collections.abc import Sequence

from ari.findings.analysis import ablations, pareto_front, taken
from ari.findings.study import SEALED, Node
from ari.paper import common, formula
from ari.paper.document import Equation, Items, Section, Table, listed, sentence
from ari.paper.evidence import note
from ari.paper.formula_front import FormulaFront
from ari.paper.story import words

FEW_VALUES = 10
MOST_CONSTANTS = 6
_WAYS = {"draft": "a new hypothesis", "improve": "refinement", "debug": "mending a failed one"}


class FormulaPaper(FormulaFront):
    """Writes the sections of one paper about a formula."""

    # ---------------------------------------------------------------------------------- results

    def results(self) -> Section:
        """What was found, and how sure it is."""
        section = Section("Results", "results")
        digits = formula.rounded_digits(self.text)
        section.say(sentence(f"The reported law was found by {self.story.experiment(self.best)}:"))
        shown = formula.equation_latex(self.text, self.study.target, digits)
        section.blocks.append(Equation("law", shown, self.best.id, digits))
        rounded = (
            f"The constants are shown rounded; {self.marks.section('reproducibility')} gives them in full"
            if digits
            else ""
        )
        section.say(sentence(rounded) if rounded else "", self._constants(), self._needs(), self._size())
        section.say(self._sealed_sentence(), *self._validation(), self._table_reference())
        section.blocks.append(self._errors())
        section.say(*self._residual_words(), *self._drawn())
        section.blocks += self.story.take("parity", "law", "trajectory")
        section.say(*self._stability())
        section.say(*self._rivals())
        section.blocks += self.story.take("pareto", "progress")
        return section

    def _constants(self) -> str:
        names = [n for n in self.best.metrics if n.startswith("formula_constant_")][: MOST_CONSTANTS + 1]
        values = [value for value in (self.story.metric(self.best, name) for name in names) if value]
        if not values or len(values) > MOST_CONSTANTS:
            return ""
        noun = "Its only constant is" if len(values) == 1 else "Its constants are, in the order of the text,"
        return sentence(f"{noun} {listed(values)}")

    def _size(self) -> str:
        size = self.story.metric(self.best, "complexity")
        return sentence(f"Its size, the number of nodes as an expression, is {size}") if size else ""

    def _validation(self) -> list[str]:
        story, error = self.story, self.story.error
        chosen = story.metric(self.best, error)
        if not chosen:
            return []
        if self.exact:
            return ["The validation rows, by which it was chosen, show no error either."]
        found = [
            sentence(f"On the validation rows, by which it was chosen, {self.marks.name(error)} is {chosen}")
        ]
        sealed, validation = self.best.metrics.get(f"{SEALED}{error}"), self.best.metrics.get(error)
        if sealed is None or validation is None:
            return found
        if sealed > 3 * validation:
            found.append(
                "The sealed rows are thus described less well than those that took part in the choice."
            )
        elif sealed < validation:
            found.append("The sealed rows are described no worse than those that took part in the choice.")
        else:
            found.append("The error is of the same order on both.")
        return found

    def _table_reference(self) -> str:
        return sentence(f"{self.marks.table('errors')} gives every measure on both parts")

    def _errors(self) -> Table:
        names = ("nrmse", "rmse", "mae", "max_abs_error", "max_rel_error", "trajectory_error", "r2")
        rows = []
        for name in names:
            row = [self.story.metric(self.best, f"{prefix}{name}") or "--" for prefix in ("", SEALED)]
            if set(row) != {"--"}:
                rows.append([self.marks.name(name), *row])
        caption = "Errors of the reported law on the rows that chose it and on the sealed ones."
        return Table("errors", caption, ["measure", "validation", "sealed"], rows, "lrr")

    def _residual_words(self) -> list[str]:
        view = self.story.residuals
        if view is None:
            return []
        where = self.story.see("parity")
        at = f" ({where})" if where else ""
        if view.exact:
            return [sentence(f"Predicted and measured values agree to rounding on every row{at}")]
        if not view.enough:
            return [sentence(f"The residuals{at} are too few to be read for a pattern")]
        seen = []
        if view.bias:
            seen.append(
                f"nearly all of one sign, the law giving too {'much' if view.bias == 'over' else 'little'}"
            )
        if view.grows:
            seen.append(f"{'larger' if view.grows == 'grows' else 'smaller'} where {self.target} is large")
        if view.pattern:
            seen.append(
                "of the same sign over stretches of neighbouring predictions, so a systematic part is left"
            )
        if not seen:
            seen.append("without a trend in size, and their signs alternate as chance would have it")
        found = [sentence(f"The residuals{at} are {listed(seen)}")]
        if view.outliers:
            names = {"train": "training"}
            parts = listed([f"{names.get(name, name)} rows" for name in view.outliers])
            found.append(sentence(f"Single values of the {parts} stand out from the rest"))
        if view.worse_sealed:
            found.append(
                "The typical residual is clearly larger on the sealed rows than on those that were fitted."
            )
        return found

    def _drawn(self) -> list[str]:
        """What the figures of the law show that the text does not say otherwise."""
        law, path = self.story.see("law"), self.story.see("trajectory")
        axis = common.field(self.study.meta, "data", "axis") or "the rows"
        return [
            sentence(f"{law} draws the law through the data") if law else "",
            sentence(f"{path} follows single series along {self.marks.name(axis)} into the sealed rows")
            if path
            else "",
        ]

    def _stability(self) -> list[str]:
        """Other splits, a wider range, the bootstrap interval: where a validation node measured them."""
        story, found = self.story, []
        for node in self.study.nodes:
            if node.label != "validation" or not node.counts or node.formula != self.text:
                continue
            again = story.metric(node, "nrmse_resplit")
            if again:
                low, high = (story.metric(node, f"nrmse_resplit_{end}") for end in ("min", "max"))
                spread = f", between {low} and {high}" if low and high else ""
                times = story.metric(node, "nrmse_resplit_n", " over ", " divisions")
                found.append(
                    sentence(
                        f"Fitted again on other divisions of the rows, the form has a median "
                        f"{self.marks.name('nrmse')} of {again}{spread}{times}"
                    )
                )
            beyond = story.metric(node, "nrmse_extrapolation")
            if beyond:
                found.append(
                    sentence(
                        f"Fitted on the smaller targets only, it has {self.marks.name('nrmse')} = "
                        f"{beyond} on the "
                        f"largest ones"
                    )
                )
            low, high = (story.metric(node, f"{story.error}_ci95_{end}") for end in ("low", "high"))
            if low and high and not self.exact:
                found.append(
                    sentence(
                        f"Resampling the validation rows puts {self.marks.name(story.error)} between "
                        f"{low} and "
                        f"{high} at the 95 % confidence level"
                    )
                )
            break
        return found

    def _rivals(self) -> list[str]:
        story, study = self.story, self.study
        error = story.error
        measured = [n for n in study.nodes if n.counts and error in n.metrics and "complexity" in n.metrics]
        front = pareto_front(measured, error)
        found = []
        seen = story.see("pareto")
        others = [n for n in front if n.formula != self.text]
        if seen and any(n.formula == self.text for n in front):
            smaller = [n for n in others if n.metrics["complexity"] < self.best.metrics.get("complexity", 0)]
            larger = [n for n in others if n not in smaller]
            text = f"On the front of error against size ({seen}) the reported law stands"
            if not others:
                text += " alone: no other formula is smaller or more accurate"
            elif larger:
                text += f" before {story.experiments(larger)}, which buy accuracy with size"
            else:
                text += (
                    f" at the accurate end; only {story.experiments(smaller)} gave smaller formulas, "
                    "with far more error"
                )
            found.append(sentence(text))
        progress = story.see("progress")
        if progress:
            found.append(sentence(f"{progress} shows when in the search each formula came up"))
        for claim in story.evidence.claims("alternative")[:1]:
            rival = study.node(str(note(claim, "subject")))
            if rival is not None and rival.formula and rival.formula != self.text:
                found += self._rival(rival)
        return found

    def _rival(self, rival: Node) -> list[str]:
        story, measure = self.story, self.measure
        strategies = words([str(s) for s in rival.plan.get("strategies") or ()])
        strategy = f"the {strategies} search" if strategies else _WAYS.get(rival.label, rival.label)
        same = all(
            rival.metrics.get(n) == self.best.metrics.get(n) for n in (measure, story.error, "complexity")
        )
        if same:
            return [sentence(f"By another way, {strategy}, {story.experiment(rival)} came to a formula of "
            f"the same size "
                             f"and error, {self.marks.raw(formula.short(rival.formula or ''))}")]  # fmt: skip
        named = sentence(
            f"The best formula of another kind came from {strategy} "
            f"({story.experiment(rival)}) and reads "
            f"{self.marks.raw(formula.short(rival.formula or ''))}"
        )
        value, size = story.metric(rival, measure), story.metric(rival, "complexity")
        if not value:
            return [named]
        compared = sentence(
            f"Its {self.marks.name(measure)} on the validation rows is {value}"
            + (f" with size {size}" if size else "")
        )
        name = f"{SEALED}{story.error}"
        sealed, ours = (n.metrics.get(name) for n in (rival, self.best))
        theirs = story.metric(rival, name)
        if sealed is None or ours is None or not theirs:
            return [named, compared]
        if sealed < ours:
            return [named, compared, sentence(
                f"On the sealed rows it is the better one, with {self.marks.name(story.error)} = {theirs}; "
                f"the choice "
                f"between them was made on the validation rows and by size, and stands"
            )]  # fmt: skip
        return [
            named,
            compared,
            sentence(f"On the sealed rows it has {self.marks.name(story.error)} = {theirs}"),
        ]

    # ---------------------------------------------------------------------------------- ablations

    def ablation(self) -> Section:
        """What single parts are worth."""
        section = Section("Ablations", "ablations")
        nodes = [node for node in ablations(self.study) if self.measure in node.metrics]
        if not nodes:
            section.say(self._no_ablation())
            return section
        nodes.sort(key=lambda node: (-self._badness(node), node.order))
        seen = self.story.see("ablation")
        opening = f"Taking single parts out of the law{f' ({seen})' if seen else ''} shows what each is worth"
        section.say(sentence(opening), *[self._taken(node) for node in nodes], self._verdict(nodes))
        failed = [n for n in self.study.nodes if n.label == "ablation" and n.status == "errored"]
        if failed:
            section.say(
                sentence(
                    f"In {self.story.experiments(failed)} a part was to be taken out, but the rest of "
                    f"the formula "
                    f"could not be fitted or was not handed in"
                )
            )
        section.blocks += self.story.take("ablation")
        return section

    def _taken(self, node: Node) -> str:
        story, named = self.story, self.marks.name(self.measure)
        without = taken(self.study, node).without(self.marks.raw)
        value = story.metric(node, self.measure)
        if not value:
            return ""
        if self._badness(node) <= self._badness(self.best):
            return sentence(f"{without}, nothing is lost: {named} is {value}")
        if self.up:
            return sentence(f"{without}, {named} falls to {value}")
        return sentence(
            f"{without}, {named} rises to {value}{story.n(self._ratio(node), ', larger by a factor of ')}"
        )

    def _verdict(self, nodes: Sequence[Node]) -> str:
        idle = [node for node in nodes if self._badness(node) <= self._badness(self.best)]
        if idle:
            parts = listed([taken(self.study, node).named(self.marks.raw) for node in idle])
            return sentence(f"By this measure {parts} could be left out")
        useless = [node for node in nodes if node.metrics.get("r2", 1.0) <= 0.0]
        if len(useless) == len(nodes) and len(nodes) > 1:
            return "Without any one of them the formula is no better than the mean."
        if useless and len(nodes) > 1:
            out = [taken(self.study, node) for node in useless]
            named = listed([part.named(self.marks.raw) for part in out])
            without = out[0].without(self.marks.raw) if len(out) == 1 else f"without {named}"
            return sentence(f"{without}, nothing better than the mean remains")
        return "Every part that was taken out is needed." if len(nodes) > 1 else ""

    def _no_ablation(self) -> str:
        planned = [n for n in self.study.nodes if n.label == "ablation"]
        if planned:
            return sentence(
                f"{self.story.experiments(planned)} took parts out of other formulas; of the "
                f"reported law "
                f"no part was taken out"
            )
        return "No part was taken out of the reported law, so what each is worth is not known."

    # ---------------------------------------------------------------------------------- limitations

    def limitations(self) -> Section:
        """What the results do not say."""
        section = Section("Limitations", "limitations")
        section.blocks.append(Items([item for item in self._limits() if item]))
        return section

    def _limits(self) -> list[str]:
        story, marks = self.story, self.marks
        sealed_values = self.best.metrics.get(f"{SEALED}n", 0)
        few = 0 < sealed_values < FEW_VALUES
        span = listed(
            [
                f"{marks.name(v['name'])} from {self._plain(v['low'])} to {self._plain(v['high'])}"
                for v in story.variables
                if v["name"] in self.used
            ]
        )
        beyond = any(
            "nrmse_extrapolation" in node.metrics for node in self.study.nodes if node.formula == self.text
        )
        constant = [n for n in self.study.nodes if n.label == "ablation" and n.counts]
        never = [str(i.get("title", "")).lower() for i in self.study.ideas]
        tried = {self._title(n) for n in self.study.nodes if n.label == "draft"}
        skipped = [title for title in never if title not in tried]
        return [
            sentence(f"With {story.metric(self.best, f'{SEALED}n')} sealed values the error on unseen rows "
            f"is itself "
                     f"poorly known") if few and story.evidence.metric(self.best.id, f"{SEALED}n") else "",
            sentence(f"The law is supported within the data only, that is for {span}"
                     + ("; the test on the largest targets reaches just past the fitted range" if beyond else
                        "; nothing was measured beyond")) if span else "",
            sentence(f"Whether {listed([marks.name(n) for n in self.unused])} matter beyond the accuracy of "
            f"these data "
                     f"cannot be said") if self.unused and not self.exact else "",
            sentence(f"{self.target} is an estimate, so its errors hold those of the estimate too; "
            f"the error of the integrated trajectories does not, but takes every other variable as measured")
            if self.study.estimated else "",
            sentence("The data are free of visible noise, so nothing is known of how the search fares with "
            "it")
            if self.exact else "",
            sentence("The reported law had no ablation, so no statement about its parts is made")
            if not constant else "",
            sentence(f"{'The hypothesis' if len(skipped) == 1 else 'The hypotheses'} {listed(skipped)} "
                     f"{'was' if len(skipped) == 1 else 'were'} not tried") if skipped else "",
            "All rows come from one source and one division of them chose the law; another source could "
            "refute it.",
        ]  # fmt: skip

    # ---------------------------------------------------------------------------------- conclusion

    def conclusion(self) -> Section:
        """What stands at the end, and what comes next."""
        section = Section("Conclusion", "conclusion")
        needs = listed([self.marks.name(name) for name in self.used if name in self.study.inputs])
        what = (
            f"Within the range of the data, {self.target} follows {self.marks.equation('law')} in {needs}"
            f"{' to rounding' if self.exact else ''}"
        )
        section.say(sentence(what), self._open_question())
        return section

    def _open_question(self) -> str:
        view = self.story.residuals
        if view is not None and view.pattern:
            return "The pattern in the residuals says that something is still missing from it."
        if view is not None and view.worse_sealed:
            return "That the sealed rows fit less well is the first thing to look into with more data."
        if self.unused:
            spare = listed([self.marks.name(name) for name in self.unused])
            return sentence(
                f"Data in which {spare} vary more would show whether {_they(self.unused)} can "
                f"be left out "
                f"for good"
            )
        return "Data from another source would be the next test."


def _they(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "they"
