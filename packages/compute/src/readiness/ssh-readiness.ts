import { checkKeys } from '../check-spec.ts';
import type { MachineHostKey } from '../driver.ts';
import { newSshKeyPair } from '../ssh-key-pair.ts';
import { requireUserDataKind } from '../user-data.ts';
import { userDataStartCommand } from '../user-data-start.ts';
import { countByDevices, countByDriver, listDevicesCommand, listGpusCommand } from './gpu-count.ts';
import {
  withSshConnection,
  publicKeyFingerprint,
  SshFailure,
  type SshConnection,
  type SshFailureKind,
  type SshLimits,
  type SshTarget,
} from './ssh-connection.ts';

/** What a look at a machine over SSH came to. Whoever is not in yet looks again until its own deadline. */
export type ReadinessResult =
  | { readonly outcome: 'in'; readonly hostKey: string; readonly gpuCount: number }
  | NotReady;

export interface NotReady {
  /**
   * `not-yet`: it may still come: nobody listens, nobody answers, the GPUs do not answer. `refused`: it may still come too,
   * once the key is installed; who asks again soon is taken for an attacker by some servers. `wrong-host-key`: another
   * machine answers at this place than the one whose key was pinned.
   */
  readonly outcome: 'not-yet' | 'refused' | 'wrong-host-key';
  readonly detail: string;
}

/** The keys of one attempt at one machine. The caller seals them before it stores them, and deletes them after the proof. */
export interface ReadinessKey {
  /** With which the platform logs in. OpenSSH's own form, without a passphrase. */
  readonly privateKey: string;
  /** A line of `authorized_keys`. */
  readonly publicKey: string;
  /** By which the machine identifies itself, put into it before its first boot. */
  readonly hostKey: ReadinessHostKey;
}

export interface ReadinessHostKey extends MachineHostKey {
  /** As `SHA256:…`: the only host key that the proof accepts. */
  readonly fingerprint: string;
}

export function newReadinessKey(): ReadinessKey {
  const pair = newSshKeyPair('millrace-proof');
  const host = newSshKeyPair('millrace');
  const fingerprint = publicKeyFingerprint(host.public);
  const hostKey = { privateKey: host.private, publicKey: host.public, fingerprint };
  return { privateKey: pair.private, publicKey: pair.public, hostKey };
}

/**
 * Logs in and counts the GPUs that the system inside sees. The target names the host key that the platform put into the
 * machine; a server that shows another gets neither the key nor a command. Fewer GPUs than sold may be drivers that are still loading: the caller decides for how
 * long it looks again. Never throws, but for a private key that is none.
 */
export function loginAndCountGpus(target: SshTarget, signal: AbortSignal): Promise<ReadinessResult> {
  return withSshSession(target, signal, async (call) => {
    const gpuCount = await countGpus(call);
    if (gpuCount !== null) return { outcome: 'in', hostKey: call.hostKey, gpuCount };
    return { outcome: 'not-yet', detail: 'The machine lets us in and does not tell its GPUs.' };
  });
}

export async function countGpus({ run }: SshConnection): Promise<number | null> {
  const gpus = await run({ line: listGpusCommand });
  return countByDriver(gpus) ?? countByDevices(gpus, await run({ line: listDevicesCommand }));
}

/**
 * Whether the server that we know refuses the key, which it must have said itself. `unreachable` is everything that is
 * no answer of it: silence, another host key, a connection that ends before the server has judged the key.
 */
export async function isKeyRejected(
  target: SshTarget,
  signal: AbortSignal,
): Promise<'refused' | 'accepted' | 'unreachable'> {
  try {
    await withSshConnection(target, signal, async () => undefined);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof SshFailure)) throw error;
    // A server that wants a second proof as well has taken the key for the first.
    if (error.kind === 'not-enough') return 'accepted';
    return error.kind === 'refused' ? 'refused' : 'unreachable';
  }
}

/**
 * Replaces the keys of the user who logs in, without an engine: not all reach inside, and one may be busy. All of the new file
 * or none of it is in force, wherever the connection breaks; asked again it does the same again. Refuses what is no line of keys, as
 * drivers do.
 */
export async function replaceKeysOverSsh(
  target: SshTarget,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly outcome: 'replaced' } | NotReady> {
  checkKeys(keys);
  const text = authorizedKeysText(keys);
  return withSshSession(target, signal, async ({ run }) => {
    const { exitCode } = await run({ line: installKeys(Buffer.byteLength(text)), input: text });
    return exitCode === 0 ? { outcome: 'replaced' } : keysNotInstalled;
  });
}

/**
 * The same with user data, for engines that start nothing inside. The session that replaced the keys stays open while `first`
 * is awaited, for what must be true before anything of the tenant's runs, and then starts the text as root, once, in the
 * background. What could never be started is `unsupported` before anything is changed.
 */
export async function handOverOverSsh(
  target: SshTarget,
  { keys, userData, first }: HandOverRequest,
  signal: AbortSignal,
): Promise<HandOverResult | NotReady> {
  checkKeys(keys);
  const kind = requireUserDataKind(userData);
  const text = authorizedKeysText(keys);
  return withSshSession(target, signal, async ({ run }): Promise<HandOverResult | NotReady> => {
    const isSupported = kind === 'script' || (await run({ line: hasCloudInit })).exitCode === 0;
    if (!isSupported) return { outcome: 'unsupported' };
    const { exitCode } = await run({ line: installKeys(Buffer.byteLength(text)), input: text });
    if (exitCode !== 0) return keysNotInstalled;
    await first();
    const started = await run({ line: rootCommandLine(userDataStartCommand(userData)), input: userData });
    return { outcome: 'replaced', hasStarted: started.exitCode === 0 };
  });
}

export interface HandOverRequest {
  readonly keys: readonly string[];
  readonly userData: string;
  readonly first: () => Promise<void>;
}

export type HandOverResult =
  | { readonly outcome: 'replaced'; readonly hasStarted: boolean }
  | { readonly outcome: 'unsupported' };

const hasCloudInit = 'command -v cloud-init';

/** Root needs nobody's leave, and may not have the tool to ask for it. */
function rootCommandLine(argv: readonly string[]): string {
  const words = argv.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  return `if [ "$(id -u)" -eq 0 ]; then exec ${words}; else exec sudo -n ${words}; fi`;
}

const keysNotInstalled: NotReady = {
  outcome: 'not-yet',
  detail: 'The machine lets us in and does not take the keys.',
};

const authorizedKeysText = (keys: readonly string[]): string => keys.map((key) => `${key.trim()}\n`).join('');

/** The keys come as input, never as words of a command. A connection that breaks is an end of input, so bytes count. */
function installKeys(bytes: number): string {
  const [file, fresh] = ['.ssh/authorized_keys', '.ssh/authorized_keys.millrace'];
  const write = `cd && umask 077 && mkdir -p .ssh && cat >${fresh}`;
  return `${write} && [ "$(wc -c <${fresh})" -eq ${bytes} ] && mv -f ${fresh} ${file}`;
}

const outcomes: Readonly<Record<SshFailureKind, NotReady['outcome']>> = {
  unreachable: 'not-yet',
  refused: 'refused',
  'not-enough': 'refused',
  'wrong-host-key': 'wrong-host-key',
};

export async function withSshSession<T>(
  target: SshTarget,
  signal: AbortSignal,
  work: (call: SshConnection) => Promise<T | NotReady>,
  limits: Partial<SshLimits> = {},
): Promise<T | NotReady> {
  try {
    return await withSshConnection(target, signal, work, limits);
  } catch (error) {
    if (!(error instanceof SshFailure)) throw error;
    return { outcome: outcomes[error.kind], detail: error.message };
  }
}
