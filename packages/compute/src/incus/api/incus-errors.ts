import { DriverError, type DriverErrorKind } from '../../driver-error.ts';

/** A failure as Incus told it. The kind says what callers of the driver need; the rest is for the driver itself. */
export class IncusError extends DriverError {
  /** Incus's own code, or 0 where there was no answer. */
  readonly code: number;
  /** The row exists already: somebody, perhaps an earlier call of ours, was first. */
  readonly isDuplicate: boolean;

  constructor(
    kind: DriverErrorKind,
    message: string,
    details: { code?: number; isDuplicate?: boolean; cause?: unknown } = {},
  ) {
    super(kind, message, { cause: details.cause });
    this.name = 'IncusError';
    this.code = details.code ?? 0;
    this.isDuplicate = details.isDuplicate ?? false;
  }
}

export const preconditionFailed = 412;

/** Also with 400: a volume that a machine has. */
const stillInUse = /still in use/;

// Incus answers nearly everything that goes wrong with 500 and a sentence, so the sentence decides. First match wins.
// Whatever could be a passing state of the cluster comes before what is final: to call a passing failure final loses a
// rental, while the reverse only costs another question.
const errorPatterns: readonly (readonly [RegExp, DriverErrorKind])[] = [
  // The node lacks a program, which no other machine on it changes: see `help`.
  [/executable file not found|neither mkisofs nor genisoimage/, 'failed'],
  // The helper through which files are written ends when its container starts or stops.
  [/forkfile/, 'busy'],
  [/address already in use|port is already in use/, 'no_capacity'],
  [
    /unable to connect to|connection refused|connection reset|no route to host|network is unreachable|i\/o timeout/,
    'unavailable',
  ],
  [
    /context deadline exceeded|context canceled|client\.timeout exceeded|unexpected eof|: eof$/,
    'unavailable',
  ],
  [
    /missing event connection|isn't ready|not ready|is starting|shutting down|is offline|heartbeat/,
    'unavailable',
  ],
  [
    /leader|raft|database is locked|bad connection|checkpoint in progress|begin transaction|cowsql|dqlite/,
    'unavailable',
  ],
  [/operation not found/, 'unavailable'],
  [/is busy running|instance is busy|is currently busy|being used by another operation/, 'busy'],
  // A look at a container in the instant in which its first process comes or goes.
  [/invalid pid/, 'busy'],
  [/matching non-reusable operation/, 'busy'],
  [stillInUse, 'busy'],
  [/unique constraint failed|already exists/, 'conflict'],
  [/no space left|disk quota exceeded|not enough (?:space|memory)|cannot allocate memory/, 'no_capacity'],
  [
    /no device found|invalid pci address|failed to detect gpu|no such device|reached maximum number/,
    'no_capacity',
  ],
  [/image not provided/, 'not_found'],
  [/not found|no such object|doesn't exist/, 'not_found'],
  [/forbidden|not allowed|not authorized|invalid|unsupported/, 'refused'],
];

/** Incus makes the disk with a VM's keys and user data by another program, and says no more than that it has none. */
const isoMaker = /mkisofs|genisoimage/;
const isoMakerHelp =
  'Install a program called mkisofs on the node (on Debian and Ubuntu the package genisoimage): VMs get their keys from a disk that it writes.';

const duplicatePattern = /unique constraint failed|already exists/;
const byCode: ReadonlyMap<number, DriverErrorKind> = new Map([
  [400, 'refused'],
  [401, 'refused'],
  [403, 'refused'],
  [404, 'not_found'],
  [409, 'conflict'],
  [preconditionFailed, 'busy'],
  [423, 'busy'],
  [429, 'busy'],
  [502, 'unavailable'],
  [503, 'unavailable'],
  [504, 'unavailable'],
]);

/**
 * What a failure that Incus told us means. One that we have never seen is `failed` where something was to be done (the
 * node could not, another may) and `unavailable` where something was only asked: a look that fails proves nothing.
 */
export function errorFromResponse(what: string, code: number, text: string, isRead: boolean): IncusError {
  const sentence = text.toLowerCase();
  const known = errorPatterns.find(([pattern]) => pattern.test(sentence))?.[1];
  const kind =
    (stillInUse.test(sentence) ? 'busy' : byCode.get(code)) ?? known ?? (isRead ? 'unavailable' : 'failed');
  // Only that the thing is absent is an answer to a look; a daemon that fails over one says nothing about the thing.
  const final = isRead && !readErrorKinds.has(kind) && code >= 500 ? 'unavailable' : kind;
  const shown = text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
  const help = isoMaker.test(sentence) ? ` ${isoMakerHelp}` : '';
  return new IncusError(final, `Incus could not ${what}: ${shown} (${code})${help}`, {
    code,
    isDuplicate: duplicatePattern.test(sentence),
  });
}

const readErrorKinds: ReadonlySet<DriverErrorKind> = new Set(['unavailable', 'busy', 'not_found']);

export function noResponseError(what: string, cause: unknown): IncusError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new IncusError('unavailable', `Incus did not answer when asked to ${what}: ${why}`, { cause });
}

export function invalidResponseError(what: string, cause: unknown): IncusError {
  const why = cause instanceof Error ? cause.message.slice(0, 500) : String(cause);
  return new IncusError('unavailable', `Incus gave no usable answer when asked to ${what}: ${why}`, {
    cause,
  });
}
