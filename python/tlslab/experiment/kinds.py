"""What an experiment's kind means for its file."""

from collections.abc import Mapping

from tlslab.domain.experiment import BENCHMARK, CAPACITY, COSTS, EFFECTS, MATRIX, PROOF, Experiment
from tlslab.experiment.benchmark import BenchmarkFile
from tlslab.experiment.capacity import CapacityFile
from tlslab.experiment.costs import CostsFile
from tlslab.experiment.effects import EffectsFile
from tlslab.experiment.file_kinds import FileKind
from tlslab.experiment.matrix import MatrixFile
from tlslab.experiment.proof import ProofFile

FILE_KINDS: Mapping[str, FileKind] = {
    BENCHMARK: BenchmarkFile(),
    CAPACITY: CapacityFile(),
    COSTS: CostsFile(),
    EFFECTS: EffectsFile(),
    MATRIX: MatrixFile(),
    PROOF: ProofFile(),
}


def file_kind(experiment: Experiment) -> FileKind:
    """The file kind of an experiment."""
    return FILE_KINDS[experiment.kind]
