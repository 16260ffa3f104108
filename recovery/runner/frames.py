"""Messages over a stream socket: each with its length and a mark, so that stray bytes are no message."""

import socket
import struct

_HEAD = struct.Struct(">8sQ")
_MARK = b"recover\n"
LARGEST = 2**34


def send(connection: socket.socket, data: bytes) -> None:
    """Raises OSError if the other end is gone."""
    connection.sendall(_HEAD.pack(_MARK, len(data)))
    connection.sendall(data)


def receive(connection: socket.socket) -> bytes:
    """The next message. Raises OSError if the other end is gone, or what came is no message."""
    mark, length = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if mark != _MARK or length > LARGEST:
        raise ConnectionError("not a message")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), 2**20))
        if not part:
            raise ConnectionError("the other end is gone")
        data += part
    return bytes(data)
