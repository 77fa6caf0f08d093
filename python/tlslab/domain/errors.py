"""The errors that a user can meet, and the exit code of each kind.

TlslabError
+-- UsageError (2)          the command line, or a file that it names, is wrong
|   +-- ExperimentError     a fault at a place in an experiment file
+-- CannotTellError (4)     the measurements do not give the answer that was asked for
+-- NoGeneratorError (3)    all load generators were lost: none can make load for a trial
+-- CannotRunError (3)      the command cannot be carried out here
    +-- EngineError         the engine ended with an error, with a failure class
    +-- StoreError          a run folder cannot be read or written
"""


class TlslabError(Exception):
    """An error that ends a command with a message instead of a traceback.

    `remedy` says what the user can do; the default is the remedy of the error's class.
    """

    exit_code = 3
    default_remedy = "see `tlslab --help`"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.default_remedy


class UsageError(TlslabError):
    """The command line, or a file that it names, is wrong.

    `cli.remedies` replaces COMMAND by the command's name.
    """

    exit_code = 2
    default_remedy = "see `tlslab COMMAND --help`"


class ExperimentError(UsageError):
    """A fault in an experiment file, with file and line (counted from 1) where they are known."""

    default_remedy = "docs/reference/experiment-file.md says what may stand there"

    def __init__(self, source: str, line: int | None, message: str, remedy: str = "") -> None:
        place = source if line is None else f"{source}:{line}"
        super().__init__(f"{place}: {message}", remedy)
        self.line = line


class CannotTellError(TlslabError):
    """The measurements do not give the answer that was asked for."""

    exit_code = 4


class NoGeneratorError(TlslabError):
    """All load generators were lost: the run ends, with the trials that are finished."""

    default_remedy = "check that their hosts run and can be reached"


class CannotRunError(TlslabError):
    """The command cannot be carried out here."""

    default_remedy = "`tlslab doctor` checks what is missing on this machine"


_ENGINE_REMEDIES = {"usage": UsageError.default_remedy}


class EngineError(CannotRunError):
    """The engine ended without a record; `class_` is its failure class.

    `status`: the unexpected status of a response, if that is the failure.
    """

    def __init__(
        self, class_: str, message: str, remedy: str = "", status: int | None = None
    ) -> None:
        super().__init__(message, remedy or _ENGINE_REMEDIES.get(class_, ""))
        self.class_ = class_
        self.status = status
        if class_ == "usage":
            self.exit_code = UsageError.exit_code


class StoreError(CannotRunError):
    """A run folder cannot be read or written."""

    default_remedy = "give a run folder that is whole and may be read and written, or run it again"
