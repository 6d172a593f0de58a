"""What a request can be answered with instead of what it asked for."""


class RequestError(Exception):
    """Something about the request: a status and words for the client."""

    def __init__(self, status, kind, message):
        super().__init__(message)
        self.status, self.kind = status, kind


def bad(message):
    return RequestError(400, "ValidationError", message)


def missing(what):
    return RequestError(404, "DoesNotExistError", f"{what} not found")


def too_large(message):
    return RequestError(413, "RequestTooLarge", message)
