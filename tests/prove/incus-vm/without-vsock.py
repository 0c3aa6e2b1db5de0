#!/usr/bin/env python3
"""without-vsock.py COMMAND...: runs a command that requires vhost_vsock on a kernel without it.

Handles three system calls of the command and its children. All others are passed to the kernel.

  ioctl(VHOST_VSOCK_SET_GUEST_CID)  returns 0, as if the guest's context id were set.
  setting RLIMIT_MEMLOCK            returns 0, because no PCI device is passed through and no memory must be locked.
  bind() of a vsock to the host     is done here with the wildcard context id, because the host's id needs a transport.
                                    Nothing ever connects, since there is no transport.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys

ARCH_X86_64 = 0xC000003E
SYS_BIND, SYS_IOCTL, SYS_SETRLIMIT, SYS_PRLIMIT64, SYS_SECCOMP, SYS_PIDFD_GETFD = 49, 16, 160, 302, 317, 438
SET_GUEST_CID = 0x4008AF60
RLIMIT_MEMLOCK = 8
SOCKADDR_VM_BYTES = 16

# Offsets in struct seccomp_data; arguments have eight bytes each, low half first.
NUMBER, ARCH, FIRST_ARGUMENT = 0, 4, 16
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, SAY_DONE, ASK_US = 0x7FFF0000, 0x00050000, 0x7FC00000

SET_MODE_FILTER, NEW_LISTENER = 1, 8
NOTIFICATION_RECEIVE, NOTIFICATION_SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
NOTIFICATION_BYTES = 80

libc = ctypes.CDLL(None, use_errno=True)


def argument(index):
    return FIRST_ARGUMENT + 8 * index


def rule(number, verdict, index, value):
    """If this is the call with this argument, returns the verdict; otherwise continues with the next rule."""
    return [
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_EQUAL, 0, 3, number),
        (LOAD, 0, 0, argument(index)),
        (JUMP_IF_EQUAL, 0, 1, value),
        (RETURN, 0, 0, verdict),
    ]


def reading_a_limit_is_allowed():
    """Without new values (third argument) prlimit64 only reads."""
    return [
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_EQUAL, 0, 5, SYS_PRLIMIT64),
        (LOAD, 0, 0, argument(2)),
        (JUMP_IF_EQUAL, 0, 3, 0),
        (LOAD, 0, 0, argument(2) + 4),
        (JUMP_IF_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW),
    ]


def filter_program():
    steps = [
        (LOAD, 0, 0, ARCH),
        (JUMP_IF_EQUAL, 1, 0, ARCH_X86_64),
        (RETURN, 0, 0, ALLOW),
        *rule(SYS_BIND, ASK_US, 2, SOCKADDR_VM_BYTES),
        *rule(SYS_IOCTL, SAY_DONE, 1, SET_GUEST_CID),
        *rule(SYS_SETRLIMIT, SAY_DONE, 0, RLIMIT_MEMLOCK),
        *reading_a_limit_is_allowed(),
        *rule(SYS_PRLIMIT64, SAY_DONE, 1, RLIMIT_MEMLOCK),
        (RETURN, 0, 0, ALLOW),
    ]
    return len(steps), b"".join(struct.pack("<HBBI", *step) for step in steps)


def become_the_command(command, to_parent):
    count, steps = filter_program()
    kept = ctypes.create_string_buffer(steps)
    program = struct.pack("<HxxxxxxQ", count, ctypes.addressof(kept))
    listener = libc.syscall(SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program)
    if listener < 0:
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
    socket.send_fds(to_parent, [b"."], [listener])
    os.close(listener)
    to_parent.close()
    os.execvp(command[0], command)


def socket_of(thread, descriptor):
    """Duplicates another process's socket. The system call may come from any of its threads."""
    with open(f"/proc/{thread}/status", encoding="ascii") as status:
        process = next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))
    handle = os.pidfd_open(process)
    try:
        duplicate = libc.syscall(SYS_PIDFD_GETFD, handle, descriptor, 0)
    finally:
        os.close(handle)
    if duplicate < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=duplicate)


def answer_to_bind(thread, descriptor, address):
    """Returns (error, flags) for the kernel; `CONTINUE` makes the kernel execute the call."""
    with socket_of(thread, descriptor) as bound:
        if bound.family != socket.AF_VSOCK:
            return 0, CONTINUE
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            _family, _reserved, port, number = struct.unpack("<HHII", memory.read(12))
        if number != socket.VMADDR_CID_HOST:
            return 0, CONTINUE
        try:
            bound.bind((socket.VMADDR_CID_ANY, port))
        except OSError as failure:
            return -(failure.errno or errno.EINVAL), 0
        return 0, 0


def attend(listener):
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    while not any(event & select.POLLHUP for _, event in waiting.poll()):
        notification = bytearray(NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(listener, NOTIFICATION_RECEIVE, notification)
            identity, thread = struct.unpack_from("<QI", notification)
            descriptor, address = struct.unpack_from("<QQ", notification, 32)
            try:
                error, flags = answer_to_bind(thread, descriptor, address)
            except (OSError, StopIteration):
                error, flags = 0, CONTINUE
            fcntl.ioctl(listener, NOTIFICATION_SEND, struct.pack("<QqiI", identity, 0, error, flags))
        except OSError as failure:
            # The caller was killed in the meantime.
            if failure.errno not in (errno.EINTR, errno.ENOENT):
                raise


def main():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        ours.close()
        become_the_command(sys.argv[1:], theirs)
    theirs.close()
    for name in (signal.SIGTERM, signal.SIGPWR):
        signal.signal(name, lambda number, _frame: os.kill(child, number))
    _, (listener, *_), _, _ = socket.recv_fds(ours, 1, 1)
    attend(listener)


main()
