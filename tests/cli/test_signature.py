"""Options of commands are those that functions and commands declare: names, defaults, descriptions, and effect."""

import importlib
import inspect
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from shiftmetrics import Resampling
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics.cli.app import COMMANDS, load_command
from shiftmetrics.cli.signature import Call, options_of


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """Perturbation.

    Parameters
    ----------
    immutable : sequence of str
        Columns that may not move. More on that.
    """

    immutable: Any = None


def measure(
    scores: Any,
    *,
    width: float | Literal["auto"] = "auto",
    divergence: Literal["kl", "chi2"] = "kl",
    n_queries: int = 500,
    perturbation: Perturbation | None = None,
    resampling: Resampling | float | None = None,
    sample_weight: Any = None,
    rng: Any = None,
) -> dict[str, Any]:
    """Return what it was given.

    Parameters
    ----------
    width : float or "auto", default "auto"
        Width of the kernel. It is positive.
    """
    return {
        "width": width,
        "perturbation": perturbation,
        "resampling": resampling,
        "weight": sample_weight,
        "rng": rng,
    }


def call(**typed: Any) -> Call:
    declared = {option.key: option for option in options_of(measure)}
    values = {key: option.default for key, option in declared.items()} | typed
    return Call(declared, values, seed=3, progress=False, words={"scores": "SHIFTED"})


def test_parameters_and_fields_become_options():
    options = {option.flag: option for option in options_of(measure)}
    assert list(options) == [
        "--width", "--divergence", "--queries", "--immutable", "--confidence-level", "--resamples",
    ]  # fmt: skip
    assert options["--width"].help == "Width of the kernel."
    assert options["--width"].default == "auto"
    assert options["--immutable"].help == "Columns that may not move."
    assert options["--confidence-level"].default is None
    assert options["--resamples"].default == 1000


def test_options_reach_the_function_and_its_objects():
    given = call(width="0.5", immutable="a, b", confidence_level=0.9)(
        measure, [1.0], sample_weight=[2.0], groups=["x"]
    )
    assert given["width"] == 0.5
    assert given["perturbation"] == Perturbation(immutable=["a", "b"])
    assert (given["resampling"].confidence_level, given["resampling"].groups) == (0.9, ["x"])
    assert (given["resampling"].rng, given["rng"]) == (3, 3)
    assert given["weight"] == [2.0]


def test_messages_name_what_was_typed():
    with pytest.raises(ValueError, match="--width must be auto or a number, got 'wide'"):
        call(width="wide")(measure, [1.0])
    with pytest.raises(
        ValueError, match="--confidence-level must be a number greater than 0 and less than 1"
    ):
        call(confidence_level=95.0)(measure, [1.0])

    def refused(scores: Any) -> None:
        raise ArgumentValueError("scores", "finite", "NaN")

    with pytest.raises(ValueError, match="SHIFTED must be finite"):
        call()(refused, [1.0])


def test_remedies_name_options_and_values_of_the_user_stay():
    def refused(scores: Any) -> None:
        remedy = Wording("Pass ", Setting("divergence", "chi2"), " or ", Setting("immutable"), ".")
        raise ArgumentValueError("scores['width']", "finite", "a width=3 beside rng", remedy)

    with pytest.raises(ValueError) as refusal:
        call()(refused, [1.0])
    said = "SHIFTED['width'] must be finite, got a width=3 beside rng."
    assert str(refusal.value) == f"{said} Pass --divergence chi2 or --immutable."


def test_classes_called_as_arguments_keep_their_names(run, tmp_path):
    labels = ["old", "new"] * 20
    for name, answers in {"a": labels, "b": labels[::-1]}.items():
        lines = [
            f"{row},{truth},{answer}"
            for row, (truth, answer) in enumerate(zip(labels, answers, strict=True))
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label,prediction", *lines]) + "\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    done = run("diff", *files, "--costs", "old=1", "--costs", "new=-2")
    assert done.exit_code == 2
    assert "--costs['new'] must be" in done.stderr
    assert "NEW" not in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_commands_say(name):
    assert load_command(name).name == name
    module = importlib.import_module(f"shiftmetrics.cli.commands.{name}")
    assert inspect.getdoc(getattr(module, name)).partition("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_described(name):
    for parameter in load_command(name).params:
        assert getattr(parameter, "help", ""), parameter.name


@pytest.mark.parametrize(
    "command",
    [
        "agreement runs.npz:noisy runs.npz:clean",
        "compare a=runs.npz:noisy b=runs.npz:clean --reference runs.npz:clean --resamples 40",
        "stability distances.npy --distances 0 --threshold 0.4",
        "novelty points.npz:new points.npz:reference",
    ],
)
def test_every_option_of_a_computation_has_an_effect(run, folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    values = {"atol": "1e-3", "rtol": "1e-3", "max_iter": "300", "memory_limit": "1000000000"}
    known = {parameter.name for parameter in load_command(command.split()[0]).params}
    typed = [
        f"--{name.replace('_', '-')}={value}" for name, value in values.items() if name in known
    ]
    done = run(*command.split(), *typed)
    assert done.exit_code == 0, done.output
