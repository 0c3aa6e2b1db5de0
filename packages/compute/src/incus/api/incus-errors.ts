import { DriverError, type DriverErrorKind } from '../../driver-error.ts';

/** A failure that Incus reported. `kind` is for callers of the driver, the other fields for the driver. */
export class IncusError extends DriverError {
  /** Incus's code, or 0 without a response. */
  readonly code: number;
  /** The row already exists, perhaps from an earlier call of this driver. */
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

/** Incus also reports this with 400, for a volume in use. */
const stillInUse = /still in use/;

// Incus reports most failures with code 500 and a message, so the message decides; the first match wins. Patterns of temporary
// states come first: to treat a temporary failure as final loses a rental, the reverse only costs a retry.
const errorPatterns: readonly (readonly [RegExp, DriverErrorKind])[] = [
  // The node lacks a program, so every machine on it fails: see `isoMakerHelp`.
  [/executable file not found|neither mkisofs nor genisoimage/, 'failed'],
  // The helper that writes files ends when its container starts or stops.
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
  // A read while the first process of a container starts or ends.
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

/** Incus needs an external program to write the disk with a VM's keys and user data. */
const isoMaker = /mkisofs|genisoimage/;
const isoMakerHelp =
  'Install mkisofs on the node (on Debian and Ubuntu the package genisoimage): Incus uses it to give VMs their keys.';

/** Incus's response to a client that it does not trust. */
const untrustedClient = /^not authorized$/;
const untrustedClientHelp =
  'It does not trust the client certificate of the credential, or the certificate has expired: `incus config trust add-certificate` adds one.';

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

/** An unknown failure is `failed` for a write (another node may work) and `unavailable` for a read (it proves nothing). */
export function errorFromResponse(what: string, code: number, text: string, isRead: boolean): IncusError {
  const sentence = text.toLowerCase();
  const known = errorPatterns.find(([pattern]) => pattern.test(sentence))?.[1];
  const kind =
    (stillInUse.test(sentence) ? 'busy' : byCode.get(code)) ?? known ?? (isRead ? 'unavailable' : 'failed');
  // A failed read proves only absence; with code 500 and above it proves nothing.
  const final = isRead && !readErrorKinds.has(kind) && code >= 500 ? 'unavailable' : kind;
  const shown = text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
  const help = helpFor(sentence, code);
  return new IncusError(final, `Incus could not ${what}: ${shown} (${code})${help}`, {
    code,
    isDuplicate: duplicatePattern.test(sentence),
  });
}

function helpFor(sentence: string, code: number): string {
  if (isoMaker.test(sentence)) return ` ${isoMakerHelp}`;
  return code === 403 && untrustedClient.test(sentence) ? ` ${untrustedClientHelp}` : '';
}

const readErrorKinds: ReadonlySet<DriverErrorKind> = new Set(['unavailable', 'busy', 'not_found']);

export function noResponseError(what: string, cause: unknown): IncusError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new IncusError('unavailable', `Incus did not respond when asked to ${what}: ${why}`, { cause });
}

export function invalidResponseError(what: string, cause: unknown): IncusError {
  const why = cause instanceof Error ? cause.message.slice(0, 500) : String(cause);
  return new IncusError('unavailable', `Incus sent an invalid response when asked to ${what}: ${why}`, {
    cause,
  });
}
