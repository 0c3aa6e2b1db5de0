import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { guardedLookup, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';
import ssh2, { type Algorithms, type ClientChannel } from 'ssh2';

export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** OpenSSH format without a passphrase. */
  readonly privateKey: string;
  /** The required host key as `SHA256:…`; null accepts any, which no login to a rental uses. */
  readonly hostKey: string | null;
  /** For a host that a supplier entered: which addresses are allowed. */
  readonly guard?: NetGuard;
}

/**
 * - `unreachable`: no response, or none of a usable SSH server. Nothing is known.
 * - `refused`: the server rejected the key.
 * - `not-enough`: the server accepted the key and requires another factor.
 * - `wrong-host-key`: another host responds; it did not receive the key.
 */
export type SshFailureKind = 'unreachable' | 'refused' | 'not-enough' | 'wrong-host-key';

/** Messages are fixed texts, so that text of a machine never reaches logs or rows. */
export class SshFailure extends Error {
  readonly kind: SshFailureKind;

  constructor(kind: SshFailureKind, message: string) {
    super(message);
    this.name = 'SshFailure';
    this.kind = kind;
  }
}

export interface SshCommand {
  /** A line for the login shell. */
  readonly line: string;
  readonly input?: string;
}

export interface SshCommandResult {
  /** Null if the server did not report it. */
  readonly exitCode: number | null;
  readonly stdout: string;
}

export interface SshConnection {
  /** As `SHA256:…`. */
  readonly hostKey: string;
  run(command: SshCommand): Promise<SshCommandResult>;
}

/** Limits; the caller's signal may end a call earlier. */
const defaultLimits = {
  /** Connecting and login. */
  loginMs: 20_000,
  /** All commands together. `nvidia-smi` takes seconds while no driver is loaded. */
  workMs: 30_000,
  /** Of one command. */
  outputBytes: 65_536,
  /** Everything the server sends: banners, ignored packets, output. */
  receivedBytes: 1_048_576,
};

export type SshLimits = typeof defaultLimits;

/**
 * Supported by every server of the last ten years, in a fixed order, so that a machine always identifies itself with the same
 * host key. Excludes what a server could use to exhaust us: 8192-bit groups and compression.
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
  ECONNREFUSED: 'The port is closed.',
  ECONNRESET: 'The connection was reset.',
  EHOSTUNREACH: 'The address is unreachable.',
  ENETUNREACH: 'The address is unreachable.',
  ETIMEDOUT: 'The address does not respond.',
  ERR_ADDRESS_FORBIDDEN: 'Connections to this address are not allowed.',
};

/** When it settles, no socket, timer or listener remains. Throws `SshFailure` and the errors of `work`. */
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
  // It may reject after the race is decided.
  over.promise.catch(() => undefined);
  const giveUp = (): void => fail('unreachable', 'The call was aborted before the server responded.');
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
  if (!isUsable) throw new TypeError('The private key of the SSH call cannot be parsed.');
  return key;
}

/** Converts every end of the connection into one failure. The listeners stay while the socket can emit events. */
function enforceLimits(socket: Socket, client: ssh2.Client, limits: SshLimits, fail: Fail): void {
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
    if (received <= limits.receivedBytes) return;
    fail('unreachable', 'The server sent too much data.');
    socket.destroy();
  });
  client.on('error', (error: Error & { readonly code?: unknown }) => {
    const known = typeof error.code === 'string' ? errorTexts[error.code] : undefined;
    fail('unreachable', known ?? 'The server does not follow the SSH protocol.');
  });
  client.on('close', () => fail('unreachable', 'The connection was closed.'));
}

/** Resolves with the host key after the login. */
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
    // `loginMs` replaces it.
    readyTimeout: 0,
    hostVerifier: (shown: Buffer): boolean => {
      const fingerprint = fingerprintOf(shown);
      // Also applies to a re-exchange of keys within a call.
      if (hostKey !== null && hostKey !== fingerprint) {
        fail('wrong-host-key', `The server has the host key ${fingerprint} instead of ${hostKey}.`);
        return false;
      }
      hostKey = fingerprint;
      return true;
    },
    authHandler: (_methods, isPartial, next) => {
      // Called again after the server responded. Not calling `next` ends the attempt.
      if (hasShownKey && isPartial)
        fail('not-enough', 'The server accepts the key and requires another factor.');
      else if (hasShownKey) fail('refused', 'The server rejected the key.');
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
    fail('unreachable', 'Connections to this address are not allowed.');
  }
}

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
        fail('unreachable', 'The login works, but the server runs no commands.');
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      let exitCode: number | null = null;
      channel.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.outputBytes) fail('unreachable', 'The output of a command is too long.');
        else chunks.push(chunk);
      });
      // Unread stderr would block the command.
      channel.stderr.resume();
      channel.on('error', () => fail('unreachable', 'The server aborted a command.'));
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
