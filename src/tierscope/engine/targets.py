"""What is known of the files and devices of a measurement, before and after a visit."""

from tierscope.engine.paths import PathError, PathSilentError, forget_path, known_path
from tierscope.model.event import Visit
from tierscope.model.spec import MeasurementSpec
from tierscope.model.storage import StorageFacts
from tierscope.topology.storage_facts import storage_facts, with_state


def targets_before(spec: MeasurementSpec) -> list[StorageFacts]:
    """Return the facts of a measurement's targets, each path once.

    Raises PathSilentError where one does not answer. Of what cannot be looked at for another reason
    nothing is said here: the engine says it of its own try.
    """
    found = []
    for path in dict.fromkeys(spec.files()):
        try:
            found.append(storage_facts(known_path(path)))
        except PathSilentError:
            raise
        except PathError:
            continue
    return found


def with_targets(visit: Visit, before: list[StorageFacts]) -> Visit:
    """Add the targets' facts to a visit's evidence, with the state that their drives are in now."""
    after = [with_state(facts) for facts in before]
    evidence = visit.evidence.model_copy(update={"storage": after})
    return visit.model_copy(update={"evidence": evidence})


def forget_targets(spec: MeasurementSpec) -> None:
    """Look at a measurement's targets anew before its next visit."""
    for path in spec.files():
        forget_path(path)
