"""What `newfound` does for a person at a shell, as a client of a service."""


class CommandFailed(RuntimeError):
    """The command did not do its work; the message says why."""
