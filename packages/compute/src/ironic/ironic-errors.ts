import { z } from 'zod';
import { DriverError, type DriverErrorKind } from '../driver-error.ts';

/** A failure that Ironic reported. `kind` is for callers of the driver, the other fields for the driver. */
export class IronicError extends DriverError {
  /** The status code, or 0 without a response. */
  readonly code: number;

  constructor(kind: DriverErrorKind, message: string, details: { code?: number; cause?: unknown } = {}) {
    super(kind, message, { cause: details.cause });
    this.name = 'IronicError';
    this.code = details.code ?? 0;
  }
}

const faultSchema = z.object({ faultstring: z.string() });
const errorBodySchema = z.union([
  z.object({ error_message: z.union([z.string(), faultSchema]) }),
  // The authentication in front of Ironic uses another format.
  z.object({ error: z.object({ message: z.string() }) }),
]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The error message: JSON in a string in JSON, or the text of a proxy. */
export function faultText(body: string): string {
  const result = errorBodySchema.safeParse(parsed(body));
  if (!result.success) return body;
  if ('error' in result.data) return result.data.error.message;
  const message = result.data.error_message;
  if (typeof message !== 'string') return message.faultstring;
  const inner = faultSchema.safeParse(parsed(message));
  return inner.success ? inner.data.faultstring : message;
}

type Rule = readonly [codes: readonly number[], sentence: RegExp, kind: DriverErrorKind];

// First match wins. Temporary states come first: a temporary failure treated as final loses a rental.
const rules: readonly Rule[] = [
  // Ironic reports a missing conductor like a missing object.
  [[], /no valid host|no conductor|conductor .{0,256}could not be found/, 'unavailable'],
  [[503], /lack of free conductor workers/, 'busy'],
  [[409], /is locked by host|state transition is in progress|please retry/, 'busy'],
  [[409], /cannot remove allocation/, 'busy'],
  [[409], /already exists|duplicate/, 'conflict'],
  [[409], /is associated with|already associated/, 'no_capacity'],
  [[409], /failed to set node power state/, 'failed'],
  [[400], /can not be performed on node .{0,256} while it is in state/, 'busy'],
  [[400], /in maintenance mode/, 'no_capacity'],
  [[400], /does not support|not supported|unsupported/, 'unsupported'],
  [[400, 404], /could not be found/, 'not_found'],
  [[500], /image href|invalid url|failed to validate/, 'refused'],
];

const byCode: ReadonlyMap<number, DriverErrorKind> = new Map([
  // Nothing is known about the machine; a repaired password or service must not require new rentals.
  [401, 'unavailable'],
  [403, 'unavailable'],
  [406, 'unavailable'],
  // Without Ironic's message a proxy may have responded.
  [404, 'unavailable'],
  [409, 'busy'],
  [429, 'busy'],
  [400, 'refused'],
]);

const errorHints: ReadonlyMap<number, string> = new Map([
  [401, ' The credential of the cluster is not accepted: check its username and its passwordFile.'],
  [403, ' The credential of the cluster needs the role admin.'],
  [406, ' Ironic must be 21.4 or later.'],
]);

const readErrorKinds: ReadonlySet<DriverErrorKind> = new Set(['unavailable', 'busy', 'not_found']);

/** Classifies a failure. An unknown one counts as temporary. */
export function errorFromResponse(what: string, code: number, body: string, isRead: boolean): IronicError {
  const text = faultText(body);
  const sentence = text.toLowerCase();
  const known = rules.find(
    ([codes, pattern]) => (codes.length === 0 || codes.includes(code)) && pattern.test(sentence),
  );
  const kind = known?.[2] ?? byCode.get(code) ?? 'unavailable';
  // A failed read proves only absence.
  const final = isRead && !readErrorKinds.has(kind) ? 'unavailable' : kind;
  const shown = text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
  return new IronicError(final, `Ironic could not ${what}: ${shown} (${code})${errorHints.get(code) ?? ''}`, {
    code,
  });
}

export function noResponseError(what: string, cause: unknown): IronicError {
  if (cause instanceof IronicError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new IronicError('unavailable', `Ironic did not respond when asked to ${what}: ${why}`, { cause });
}

export function invalidResponseError(what: string, cause: unknown): IronicError {
  const why = cause instanceof Error ? cause.message.slice(0, 500) : String(cause);
  return new IronicError('unavailable', `Ironic sent an invalid response when asked to ${what}: ${why}`, {
    cause,
  });
}
