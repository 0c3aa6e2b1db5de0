import { plainText } from './plain-text.ts';

/**
 * Why a driver could not do what it was asked.
 *
 * - `unavailable`: the engine, or the member that holds the machine, did not answer, or answered that it cannot now.
 *   Nothing is known about what was done. Ask again.
 * - `busy`: the engine is doing something else with this machine. Ask again.
 * - `not_found`: the engine says that the machine (or node, image, device) does not exist.
 * - `conflict`: a machine of this id exists and is not what was asked for.
 * - `no_capacity`: the node cannot hold it: memory, disk, a device that is taken or gone.
 * - `refused`: the engine understood and will not; asking again gives the same answer.
 * - `unsupported`: this engine cannot do it at all.
 * - `failed`: the engine tried and the machine did not come about, for a reason of the node. Another node may work.
 * - `unclean`: of `terminate` alone. The machine is taken from its tenant for good, and its node could not be wiped: nobody
 *   may be put there before a person has looked.
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
    // Part of it is often what an engine said, and it is kept, logged and shown.
    super(plainText(message), options);
    this.name = 'DriverError';
    this.kind = kind;
  }

  /** Whether asking the same again, of the same engine, would be answered the same. */
  get isFinal(): boolean {
    return !transientKinds.has(this.kind);
  }
}

export function isDriverError(error: unknown, kind?: DriverErrorKind): error is DriverError {
  return error instanceof DriverError && (kind === undefined || error.kind === kind);
}
