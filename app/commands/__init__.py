"""What `newfound` does for a person at a shell: as a client of a service, or to look after its database."""


class CommandFailed(RuntimeError):
    """The command did not do its work; the message says why."""
