import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Clock } from '@millrace/platform/clock';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type ServerChannel } from 'ssh2';
import { runCommand, splitLine, type Inside } from './commands.ts';
import { sshUser } from './mock-machine.ts';

export interface Guest {
  readonly hostKey: string;
  readonly clock: Clock;
  /** The machine as it is now; null when nobody may reach it any more, and then the connection is broken. */
  look(): Promise<Omit<Inside, 'maxBytes'> | null>;
}

const mostTries = 6;
const loginMs = 30_000;
const mostOutputBytes = 1_048_576;
const mostLineChars = 4_096;

/**
 * Serves one connection to one mock machine: public keys only, the few commands of `commands.ts`, and a prompt that runs
 * them line by line. Before anything is answered the machine is looked at anew, so what was cut off answers nothing,
 * whichever process did the cutting. No forwarding, no files, nothing of the host.
 */
export function serveSsh(socket: Socket, guest: Guest): void {
  const server = new ssh2.Server({ hostKeys: [guest.hostKey], ident: 'millrace-mock' }, (client) => {
    const tooLate = guest.clock.after(loginMs, () => socket.destroy());
    let tries = 0;
    client.on('error', () => socket.destroy());
    client.on('close', tooLate);
    client.on('authentication', (context) => {
      tries += 1;
      if (tries > mostTries) socket.destroy();
      else void judge(context, guest, socket);
    });
    client.once('ready', tooLate);
    client.on('ready', () => serveSessions(client, guest, socket));
  });
  server.injectSocket(socket);
}

async function judge(context: AuthContext, guest: Guest, socket: Socket): Promise<void> {
  const inside = await lookOrBreak(guest, socket);
  if (inside === null) return;
  const isKnown =
    context.method === 'publickey' &&
    context.username === sshUser &&
    inside.machine.sshKeys.some((line) => isSignedBy(line, context));
  if (isKnown) context.accept();
  else context.reject(['publickey']);
}

/** Whether the client has shown this key: it names it, and signs with it once it is asked to. */
function isSignedBy(line: string, context: PublicKeyAuthContext): boolean {
  const key = ssh2.utils.parseKey(line);
  if (key instanceof Error || Array.isArray(key)) return false;
  const known = key.getPublicSSH();
  const shown = context.key.data;
  if (known.length !== shown.length || !timingSafeEqual(known, shown)) return false;
  if (context.signature === undefined || context.blob === undefined) return true;
  return key.verify(context.blob, context.signature, context.hashAlgo) === true;
}

function serveSessions(client: Connection, guest: Guest, socket: Socket): void {
  client.on('session', (acceptSession) => {
    const session = acceptSession();
    let isTerminal = false;
    session.on('pty', (accept) => {
      isTerminal = true;
      accept?.();
    });
    session.on('exec', (accept, _reject, { command }) => void serveLine(accept(), command, guest, socket));
    session.on('shell', (accept) => servePrompt(accept(), isTerminal, guest, socket));
  });
}

async function serveLine(channel: ServerChannel, line: string, guest: Guest, socket: Socket): Promise<void> {
  channel.on('error', () => socket.destroy());
  const exitCode = await runLine(channel, line, guest, socket);
  if (exitCode === null) return;
  channel.exit(exitCode);
  channel.end();
}

/** A prompt: a line, its answer, the next. Who has a terminal types blind unless it is echoed. */
function servePrompt(channel: ServerChannel, isTerminal: boolean, guest: Guest, socket: Socket): void {
  let pending = '';
  let work = Promise.resolve();
  const newline = isTerminal ? '\r\n' : '\n';
  const leave = (): void => {
    channel.exit(0);
    channel.end();
  };
  const take = async (line: string): Promise<void> => {
    if (!channel.writable) return;
    if (line.trim() === 'exit') {
      leave();
      return;
    }
    if (line.trim() !== '') await runLine(channel, line, guest, socket, newline);
    if (channel.writable) channel.write('$ ');
  };
  channel.on('error', () => socket.destroy());
  channel.write(`This machine is a mock: it knows a few commands and runs none of yours.${newline}$ `);
  channel.on('data', (chunk: Buffer) => {
    const typed = chunk.toString('utf8');
    if (isTerminal) channel.write(echoOf(typed));
    const { lines, rest, isOver } = readTyped(pending + typed);
    pending = rest;
    // Someone who pours data in is not typing.
    if (pending.length > mostLineChars || lines.length > mostLineChars) socket.destroy();
    else for (const line of lines) work = work.then(() => take(line));
    if (isOver) work = work.then(leave);
  });
}

// What a terminal sends for the key that takes back, for giving a line up, and for the end.
const [erase, giveUp, end] = ['\u007f', '\u0003', '\u0004'];

function echoOf(typed: string): string {
  return typed
    .replaceAll(/\r\n|\r|\n/g, '\r\n')
    .replaceAll(erase, '\b \b')
    .replaceAll(giveUp, '^C\r\n$ ');
}

/** The whole lines in what was typed, and what is left of the last one. */
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

async function runLine(
  channel: ServerChannel,
  line: string,
  guest: Guest,
  socket: Socket,
  newline = '\n',
): Promise<number | null> {
  const argv = line.length > mostLineChars ? null : splitLine(line);
  const inside = await lookOrBreak(guest, socket);
  if (inside === null) return null;
  if (argv === null) {
    channel.stderr.write(`This machine is a mock and has no shell: give one plain command.${newline}`);
    return 127;
  }
  const outcome = runCommand(argv, { ...inside, maxBytes: mostOutputBytes });
  if (outcome.waitMs > 0) {
    await guest.clock.sleep(outcome.waitMs);
    if ((await lookOrBreak(guest, socket)) === null) return null;
  }
  channel.write(outcome.stdout.replaceAll('\n', newline));
  channel.stderr.write(outcome.stderr.replaceAll('\n', newline));
  return outcome.exitCode;
}

async function lookOrBreak(guest: Guest, socket: Socket): Promise<Omit<Inside, 'maxBytes'> | null> {
  try {
    const inside = await guest.look();
    if (inside !== null && !socket.destroyed) return inside;
  } catch {
    // A memory that cannot be read cannot say that this is still allowed.
  }
  socket.destroy();
  return null;
}
