import { plainText } from './plain-text.ts';

/**
 * Why a driver call failed.
 *
 * - `unavailable`: the engine or node did not respond, or cannot do it now. The outcome is unknown; retry.
 * - `busy`: the engine has another operation on this machine in progress; retry.
 * - `not_found`: the engine reports that the machine (or node, image, device) does not exist.
 * - `conflict`: a machine with this id exists and differs from the spec.
 * - `no_capacity`: the node lacks memory, disk or a device.
 * - `refused`: the engine rejects the request; a retry gives the same result.
 * - `unsupported`: this engine cannot do it.
 * - `failed`: the engine could not create the machine because of its node; another node may work.
 * - `unclean`: only from `terminate`. The tenant has no access any more, but the node could not be wiped: nothing may be placed
 * on it before an operator has checked it.
 */
export type DriverErrorKind =
  | 'unavailable'
  | 'busy'
  | 'not_found'
  | 'conflict'
  | 'no_capacity'
  | 'refused'
  | 'unsupported'
  | 'failed'
  | 'unclean';

const transientKinds: ReadonlySet<DriverErrorKind> = new Set(['unavailable', 'busy']);

export class DriverError extends Error {
  readonly kind: DriverErrorKind;

  constructor(kind: DriverErrorKind, message: string, options?: ErrorOptions) {
    // The message often contains text of an engine, and is stored, logged and shown.
    super(plainText(message), options);
    this.name = 'DriverError';
    this.kind = kind;
  }

  /** Whether a retry at the same engine would fail again. */
  get isFinal(): boolean {
    return !transientKinds.has(this.kind);
  }
}

export function isDriverError(error: unknown, kind?: DriverErrorKind): error is DriverError {
  return error instanceof DriverError && (kind === undefined || error.kind === kind);
}
