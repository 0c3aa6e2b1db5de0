import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '@millrace/platform/clock';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel } from 'ssh2';
import { runCommand, splitLine, type CommandContext } from './commands.ts';
import { sshUser } from './mock-machine.ts';

export interface SshServerOptions {
  readonly hostKey: string;
  readonly clock: Clock;
  /** The machine as it is now; null if access has ended, and the connection is closed. */
  look(): Promise<Omit<CommandContext, 'maxBytes'> | null>;
}

const maxAuthAttempts = 6;
const loginMs = 30_000;
const maxSessions = 10;
const maxOutputBytes = 65_536;
/** Limit of unread output per connection, including that of ended sessions. */
const maxUnreadBytes = 1_048_576;
const maxLineChars = 4_096;

/**
 * Serves one SSH connection to a mock machine: public keys only, the commands of `commands.ts`, and a prompt that runs them. The
 * record is read again before every response, so an access cut by any process takes effect. No forwarding, no files, nothing of
 * the host. Sessions and unread output are limited.
 */
export function serveSsh(socket: Socket, guest: SshServerOptions): void {
  // From the first byte, so that a client that never logs in is disconnected.
  const isIn = destroyAfter(loginMs, socket, guest.clock);
  const server = new ssh2.Server({ hostKeys: [guest.hostKey], ident: 'millrace-mock' }, (client) => {
    let tries = 0;
    client.on('error', () => socket.destroy());
    client.on('authentication', (context) => {
      tries += 1;
      if (tries > maxAuthAttempts) socket.destroy();
      else destroyOnError(socket, authenticate(context, guest, socket));
    });
    client.once('ready', isIn);
    client.on('ready', () => serveSessions(client, guest, socket));
  });
  server.injectSocket(socket);
}

/** Closes the connection after this time unless the returned function is called. */
export function destroyAfter(ms: number, socket: Socket, clock: Clock): () => void {
  const cancel = clock.after(ms, () => socket.destroy());
  socket.once('close', cancel);
  return cancel;
}

/** An unhandled rejection would end the process. */
function destroyOnError(socket: Socket, work: Promise<void>): void {
  work.catch(() => socket.destroy());
}

async function authenticate(context: AuthContext, guest: SshServerOptions, socket: Socket): Promise<void> {
  const inside = await readMachineOrDestroy(guest, socket);
  if (inside === null) return;
  const isKnown =
    context.method === 'publickey' &&
    context.username === sshUser &&
    inside.machine.sshKeys.some((line) => isSignedBy(line, context));
  if (isKnown) context.accept();
  else context.reject(['publickey']);
}

/** Clients first name the key and then sign with it. */
function isSignedBy(line: string, context: PublicKeyAuthContext): boolean {
  const key = ssh2.utils.parseKey(line);
  if (key instanceof Error || Array.isArray(key)) return false;
  const known = key.getPublicSSH();
  const shown = context.key.data;
  if (known.length !== shown.length || !timingSafeEqual(known, shown)) return false;
  if (context.signature === undefined || context.blob === undefined) return true;
  return key.verify(context.blob, context.signature, context.hashAlgo) === true;
}

function serveSessions(client: Connection, guest: SshServerOptions, socket: Socket): void {
  const closed = new AbortController();
  let sessions = 0;
  // Each session may wait for `drain`, so several listeners are no leak.
  socket.setMaxListeners(socket.getMaxListeners() + maxSessions);
  socket.once('close', () => closed.abort());
  client.on('session', (acceptSession, reject) => {
    if (socket.writableLength > maxUnreadBytes) socket.destroy();
    if (sessions >= maxSessions || socket.destroyed) {
      reject();
      return;
    }
    sessions += 1;
    const end = new AbortController();
    const over = AbortSignal.any([closed.signal, end.signal]);
    const session = acceptSession();
    let isTerminal = false;
    session.once('close', () => {
      sessions -= 1;
      end.abort();
    });
    session.on('pty', (accept) => {
      isTerminal = true;
      accept?.();
    });
    // For a second request on one channel ssh2 returns no channel, despite its types.
    session.on('exec', (accept, _reject, { command }) => {
      const channel: ServerChannel | undefined = accept();
      if (channel !== undefined) serveLine({ channel, guest, socket, over, newline: '\n' }, command);
    });
    session.on('shell', (accept) => {
      const channel: ServerChannel | undefined = accept();
      const newline = isTerminal ? '\r\n' : '\n';
      if (channel !== undefined) servePrompt({ channel, guest, socket, over, newline }, isTerminal);
    });
  });
}

interface ShellChannel {
  readonly channel: ServerChannel;
  readonly guest: SshServerOptions;
  readonly socket: Socket;
  readonly newline: string;
  /** Aborts when the channel or its connection has closed. */
  readonly over: AbortSignal;
}

function exit({ channel }: ShellChannel, exitCode: number): void {
  channel.exit(exitCode);
  channel.end();
}

function serveLine(shell: ShellChannel, line: string): void {
  const { channel, socket } = shell;
  channel.on('error', () => socket.destroy());
  // Commands read no input, and an unread channel never closes.
  channel.resume();
  const work = runLine(shell, line).then((exitCode) => {
    if (exitCode !== null) exit(shell, exitCode);
  });
  destroyOnError(socket, work);
}

/** A terminal needs an echo. */
function servePrompt(shell: ShellChannel, isTerminal: boolean): void {
  const { channel, socket } = shell;
  channel.on('error', () => socket.destroy());
  destroyOnError(socket, runShell(shell, isTerminal));
}

async function runShell(shell: ShellChannel, isTerminal: boolean): Promise<void> {
  const { channel, socket, newline } = shell;
  let pending = '';
  channel.write(`This machine is a mock: it supports a few commands and runs no programs.${newline}$ `);
  // Input is read after the previous response; ssh2 applies back-pressure to the client.
  for await (const chunk of channel as AsyncIterable<Buffer>) {
    const typed = chunk.toString('utf8');
    if (isTerminal) channel.write(echoOf(typed));
    const { lines, rest, isOver } = readTyped(pending + typed);
    pending = rest;
    // A longer line is not typed input.
    if (pending.length > maxLineChars) socket.destroy();
    for (const line of lines) {
      if (line.trim() === 'exit') return exit(shell, 0);
      if (line.trim() !== '' && (await runLine(shell, line)) === null) return;
      channel.write('$ ');
      await waitUntilDrained(shell);
    }
    await waitUntilDrained(shell);
    if (isOver) break;
  }
  exit(shell, 0);
}

/** Resolves when the client has read the output or disconnected. */
async function waitUntilDrained({ channel, socket, over }: ShellChannel): Promise<void> {
  for (const stream of [channel, socket] satisfies Duplex[]) {
    if (stream.writableNeedDrain && !over.aborted) {
      await once(stream, 'drain', { signal: over }).catch(() => undefined);
    }
  }
}

// Control characters of a terminal: backspace, Ctrl-C, Ctrl-D.
const [erase, giveUp, end] = ['\u007f', '\u0003', '\u0004'];

function echoOf(typed: string): string {
  return typed
    .replaceAll(/\r\n|\r|\n/g, '\r\n')
    .replaceAll(erase, '\b \b')
    .replaceAll(giveUp, '^C\r\n$ ');
}

function readTyped(text: string): { lines: string[]; rest: string; isOver: boolean } {
  const isOver = text.includes(end);
  let line = '';
  const lines: string[] = [];
  for (const character of text.replaceAll('\r\n', '\n')) {
    if (character === '\n' || character === '\r') {
      lines.push(line);
      line = '';
    } else if (character === giveUp) line = '';
    else if (character === erase) line = line.slice(0, -1);
    else if (character !== end) line += character;
  }
  return { lines, rest: line, isOver };
}

/** Returns the exit code, or null if the connection has ended. */
async function runLine(
  { channel, guest, socket, newline, over }: ShellChannel,
  line: string,
): Promise<number | null> {
  const argv = line.length > maxLineChars ? null : splitLine(line);
  const inside = await readMachineOrDestroy(guest, socket);
  if (inside === null) return null;
  if (argv === null) {
    channel.stderr.write(`This machine is a mock and has no shell: enter one plain command.${newline}`);
    return 127;
  }
  const outcome = runCommand(argv, { ...inside, maxBytes: maxOutputBytes });
  if (outcome.waitMs > 0) {
    await guest.clock.sleep(outcome.waitMs, over).catch(() => undefined);
    if (over.aborted || (await readMachineOrDestroy(guest, socket)) === null) return null;
  }
  channel.write(outcome.stdout.replaceAll('\n', newline));
  channel.stderr.write(outcome.stderr.replaceAll('\n', newline));
  return outcome.exitCode;
}

async function readMachineOrDestroy(
  guest: SshServerOptions,
  socket: Socket,
): Promise<Omit<CommandContext, 'maxBytes'> | null> {
  try {
    const inside = await guest.look();
    if (inside !== null && !socket.destroyed) return inside;
  } catch {
    // If the record cannot be read, access is not proven.
  }
  socket.destroy();
  return null;
}
