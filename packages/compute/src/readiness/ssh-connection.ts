import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { guardedLookup, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';
import ssh2, { type Algorithms, type ClientChannel } from 'ssh2';

/** A login: where, as whom, by which key, and who must answer there. */
export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** OpenSSH's own form, without a passphrase. */
  readonly privateKey: string;
  /** The host key that the server must show, as `SHA256:…`; null accepts any, which no login of a rental does. */
  readonly hostKey: string | null;
  /** Where somebody else named the host: what of it may be connected to. */
  readonly guard?: NetGuard;
}

/**
 * - `unreachable`: nobody there, silence, or something that is no SSH server to us. Nothing is known.
 * - `refused`: the server itself said that this key does not get in.
 * - `not-enough`: the server takes the key and wants more than it.
 * - `wrong-host-key`: somebody else answers at this place; the key was not shown to it.
 */
export type SshFailureKind = 'unreachable' | 'refused' | 'not-enough' | 'wrong-host-key';

/** Its message is ours alone: nothing that a machine says gets into logs and rows by way of an error. */
export class SshFailure extends Error {
  readonly kind: SshFailureKind;

  constructor(kind: SshFailureKind, message: string) {
    super(message);
    this.name = 'SshFailure';
    this.kind = kind;
  }
}

export interface SshCommand {
  /** A line for the shell of whoever logged in. */
  readonly line: string;
  readonly input?: string;
}

export interface SshCommandResult {
  /** Null when the server did not say how the command ended. */
  readonly exitCode: number | null;
  readonly stdout: string;
}

export interface SshConnection {
  /** As `SHA256:…`, the way OpenSSH shows it. */
  readonly hostKey: string;
  run(command: SshCommand): Promise<SshCommandResult>;
}

/** How long what may take. Everything that the caller's signal ends earlier ends then. */
const defaultLimits = {
  /** From nothing to logged in. */
  loginMs: 20_000,
  /** All commands together: the tool that counts GPUs takes seconds where no driver is loaded yet. */
  workMs: 30_000,
  /** Of one command's output. */
  outputBytes: 65_536,
  /** All that a server may send in a call: banners, packets that mean nothing, output. */
  receivedBytes: 1_048_576,
};

export type SshLimits = typeof defaultLimits;

/**
 * What every server of the last ten years has, in an order that never changes, so that a machine is always known by the
 * same one of its host keys. Not what a server could choose to make us work: groups of 8192 bits, or compressed bombs.
 */
const algorithms: Algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ],
  serverHostKey: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ],
  compress: ['none'],
};

const errorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there.',
  ECONNRESET: 'The connection was reset.',
  EHOSTUNREACH: 'The address cannot be reached.',
  ENETUNREACH: 'The address cannot be reached.',
  ETIMEDOUT: 'The address does not answer.',
  ERR_ADDRESS_FORBIDDEN: 'The address is none that may be connected to.',
};

/**
 * Logs in by this one key and by nothing else, does the work, and hangs up, whatever the other side does or does not do:
 * when this settles, no socket, timer or listener is left. Throws a `SshFailure`, and what the work throws.
 */
export async function withSshConnection<T>(
  target: SshTarget,
  signal: AbortSignal,
  work: (call: SshConnection) => Promise<T>,
  wider: Partial<SshLimits> = {},
): Promise<T> {
  const limits: SshLimits = { ...defaultLimits, ...wider };
  const key = readPrivateKey(target.privateKey);
  const over = Promise.withResolvers<never>();
  const fail = (kind: SshFailureKind, message: string): void => over.reject(new SshFailure(kind, message));
  // It may fail when nobody waits any more.
  over.promise.catch(() => undefined);
  const giveUp = (): void => fail('unreachable', 'The call was given up before it was answered.');
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp, { once: true });
  let cancel = systemClock.after(limits.loginMs, () => fail('unreachable', 'The login took too long.'));
  const socket = new Socket();
  const client = new ssh2.Client();
  try {
    if (signal.aborted) return await over.promise;
    enforceLimits(socket, client, limits, fail);
    const login = logIn({ target, key, socket, client, fail });
    const hostKey = await Promise.race([login, over.promise]);
    cancel();
    cancel = systemClock.after(limits.workMs, () => fail('unreachable', 'The commands took too long.'));
    const run = (command: SshCommand): Promise<SshCommandResult> =>
      execOverSsh(client, command, limits, fail);
    return await Promise.race([work({ hostKey, run }), over.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}

type Fail = (kind: SshFailureKind, message: string) => void;

function readPrivateKey(text: string): ssh2.ParsedKey {
  const key = ssh2.utils.parseKey(text);
  const isUsable = !(key instanceof Error) && !Array.isArray(key) && key.isPrivateKey();
  if (!isUsable) throw new TypeError('The private key for a call over SSH cannot be read.');
  return key;
}

/** Turns whatever becomes of the connection into one failure. Stays for as long as the socket can still say anything. */
function enforceLimits(socket: Socket, client: ssh2.Client, limits: SshLimits, fail: Fail): void {
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
    if (received <= limits.receivedBytes) return;
    fail('unreachable', 'The server sends without end.');
    socket.destroy();
  });
  client.on('error', (error: Error & { readonly code?: unknown }) => {
    const known = typeof error.code === 'string' ? errorTexts[error.code] : undefined;
    fail('unreachable', known ?? 'What answers there does not go on as an SSH server would.');
  });
  client.on('close', () => fail('unreachable', 'The connection was closed.'));
}

/** The host's key, once the server has let us in. */
function logIn(options: {
  readonly target: SshTarget;
  readonly key: ssh2.ParsedKey;
  readonly socket: Socket;
  readonly client: ssh2.Client;
  readonly fail: Fail;
}): Promise<string> {
  const { target, key, socket, client, fail } = options;
  let hostKey = target.hostKey;
  let hasShownKey = false;
  const isIn = new Promise<string>((resolve) => {
    client.once('ready', () => resolve(hostKey ?? ''));
  });
  socket.setNoDelay(true);
  connectSocket(socket, target, fail);
  client.connect({
    sock: socket,
    username: target.user,
    algorithms,
    // Ours is longer, ends more, and can be given up.
    readyTimeout: 0,
    hostVerifier: (shown: Buffer): boolean => {
      const fingerprint = fingerprintOf(shown);
      // Also within a call: whoever exchanges keys anew must stay who it was.
      if (hostKey !== null && hostKey !== fingerprint) {
        fail('wrong-host-key', `It shows the host key ${fingerprint} instead of ${hostKey}.`);
        return false;
      }
      hostKey = fingerprint;
      return true;
    },
    authHandler: (_methods, isPartial, next) => {
      // Called again when the server has answered. Leaving it without another method ends the attempt.
      if (hasShownKey && isPartial) fail('not-enough', 'The server asks for more than the key.');
      else if (hasShownKey) fail('refused', 'The server refuses the key.');
      else next({ type: 'publickey', username: target.user, key });
      hasShownKey = true;
    },
  });
  return isIn;
}

function connectSocket(socket: Socket, { host, port, guard }: SshTarget, fail: Fail): void {
  if (guard === undefined) {
    socket.connect({ host, port });
    return;
  }
  try {
    assertAddressAllowed(guard, host);
    socket.connect({ host, port, lookup: guardedLookup(guard) });
  } catch {
    fail('unreachable', 'The address is none that may be connected to.');
  }
}

/** Of a public key as a line, such as `ssh-ed25519 AAAA… comment`. */
export function publicKeyFingerprint(publicKey: string): string {
  return fingerprintOf(Buffer.from(publicKey.split(' ')[1] ?? '', 'base64'));
}

function fingerprintOf(hostKey: Buffer): string {
  return `SHA256:${createHash('sha256')
    .update(hostKey)
    .digest('base64')
    .replace(/(?<!=)=+$/, '')}`;
}

function execOverSsh(
  client: ssh2.Client,
  command: SshCommand,
  limits: SshLimits,
  fail: Fail,
): Promise<SshCommandResult> {
  return new Promise((resolve) => {
    const response = (error: Error | undefined, channel: ClientChannel): void => {
      if (error !== undefined) {
        fail('unreachable', 'The server let us in and runs no command.');
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      let exitCode: number | null = null;
      channel.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.outputBytes) fail('unreachable', 'A command answers without end.');
        else chunks.push(chunk);
      });
      // Nobody reads what it complains about, and unread it would hold the command up.
      channel.stderr.resume();
      channel.on('error', () => fail('unreachable', 'The server broke a command off.'));
      channel.once('exit', (code: unknown) => {
        exitCode = typeof code === 'number' ? code : null;
      });
      channel.once('close', () => resolve({ exitCode, stdout: Buffer.concat(chunks).toString('utf8') }));
      channel.end(command.input ?? '');
    };
    try {
      client.exec(command.line, response);
    } catch {
      fail('unreachable', 'The connection was closed.');
    }
  });
}
