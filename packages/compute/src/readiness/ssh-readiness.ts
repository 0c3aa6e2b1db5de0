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

/** A caller that gets no `in` retries until its own deadline. */
export type ReadinessResult =
  | { readonly outcome: 'in'; readonly hostKey: string; readonly gpuCount: number }
  | NotReady;

export interface NotReady {
  /**
   * `not-yet`: no response yet, or the GPUs cannot be counted. `refused`: the key might not be installed yet; some servers block
   * clients that retry too fast. `wrong-host-key`: another machine responds than the one with the pinned key.
   */
  readonly outcome: 'not-yet' | 'refused' | 'wrong-host-key';
  readonly detail: string;
}

/** The keys of one attempt at one machine. The caller seals them for storage and deletes them after the readiness check. */
export interface ReadinessKey {
  /** Key of the platform's login, in OpenSSH format without a passphrase. */
  readonly privateKey: string;
  readonly publicKey: string;
  /** Host key of the machine, installed before its first boot. */
  readonly hostKey: ReadinessHostKey;
}

export interface ReadinessHostKey extends MachineHostKey {
  /** As `SHA256:…`: the only host key that the readiness check accepts. */
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
 * Logs in and counts the GPUs that the operating system sees. A server with another host key than the installed one gets neither
 * the key nor a command. Drivers may still be loading, so the caller decides how long to retry a low count. Throws only for an
 * invalid private key.
 */
export function loginAndCountGpus(target: SshTarget, signal: AbortSignal): Promise<ReadinessResult> {
  return withSshSession(target, signal, async (call) => {
    const gpuCount = await countGpus(call);
    if (gpuCount !== null) return { outcome: 'in', hostKey: call.hostKey, gpuCount };
    return { outcome: 'not-yet', detail: 'The login works, but the GPUs cannot be counted yet.' };
  });
}

export async function countGpus({ run }: SshConnection): Promise<number | null> {
  const gpus = await run({ line: listGpusCommand });
  return countByDriver(gpus) ?? countByDevices(gpus, await run({ line: listDevicesCommand }));
}

/** `refused` only if the known server itself rejects the key; no response or another host key is `unreachable`. */
export async function isKeyRejected(
  target: SshTarget,
  signal: AbortSignal,
): Promise<'refused' | 'accepted' | 'unreachable'> {
  try {
    await withSshConnection(target, signal, async () => undefined);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof SshFailure)) throw error;
    // A server that requires a second factor has accepted the key.
    if (error.kind === 'not-enough') return 'accepted';
    return error.kind === 'refused' ? 'refused' : 'unreachable';
  }
}

/**
 * Replaces the keys of the login user without the engine, which may be busy or unable to. Atomic and idempotent, wherever the
 * connection breaks. Refuses invalid lines, as drivers do.
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
 * Also starts user data, for engines that cannot run commands inside. The session that replaced the keys stays open while `first`
 * runs, which must complete before any of the tenant's code; then it starts the text as root, once, in the background. An
 * unsupported text is detected before anything changes.
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

/** Root needs no sudo, and an image might not have it. */
function rootCommandLine(argv: readonly string[]): string {
  const words = argv.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  return `if [ "$(id -u)" -eq 0 ]; then exec ${words}; else exec sudo -n ${words}; fi`;
}

const keysNotInstalled: NotReady = {
  outcome: 'not-yet',
  detail: 'The login works, but the keys could not be installed.',
};

const authorizedKeysText = (keys: readonly string[]): string => keys.map((key) => `${key.trim()}\n`).join('');

/** The keys are passed on stdin, never as arguments. The byte count detects a broken connection. */
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
