import { Fault } from '../../fault/index.ts';

/**
 * Limits the memory of arriving request bodies: per process, per caller, and for all unfunded callers together. Bytes
 * count when they arrive, not when they are announced, so a slow client uses only what it has sent.
 */
export interface BodyBudget {
  /** Opens an empty reservation. Throws a `Fault` if the caller, its class or the process has too many. */
  open(caller: BodyCaller): BodyReservation;
  readonly bytes: number;
  readonly bodies: number;
}

export interface BodyCaller {
  /** The organisation, user or address block that the body counts for. */
  readonly subject: string;
  /** Unfunded callers can be created in any number at no cost, so they share one small budget. */
  readonly isFunded: boolean;
}

export interface BodyReservation {
  /** Throws a `Fault` if the budget has too few bytes left. */
  take(bytes: number): void;
  /** Releases the reservation. Call it only after its memory was freed. A second call does nothing. */
  release(): void;
}

export interface BodyBudgetLimits {
  readonly processBytes: number;
  readonly processBodies: number;
  /** The limit of all unfunded callers together. */
  readonly unfundedBytes: number;
  readonly unfundedBodies: number;
  readonly callerBytes: number;
  readonly callerBodies: number;
}

interface Usage {
  bytes: number;
  bodies: number;
}

interface BudgetClass {
  readonly held: Usage;
  readonly bytes: number;
  readonly bodies: number;
  refuse(): Fault;
}

const retryAfterSeconds = 1;
const none = (): Usage => ({ bytes: 0, bodies: 0 });

/** A body of size `largestBody` fits for each caller, for a funded one even if unfunded callers use all of theirs. */
export function createBodyBudget(limits: BodyBudgetLimits, largestBody = 0): BodyBudget {
  const callers = new Map<string, Usage>();
  const unfunded: BudgetClass = {
    held: none(),
    bytes: Math.max(limits.unfundedBytes, largestBody),
    bodies: limits.unfundedBodies,
    refuse: () =>
      new Fault('TOO_MANY_UPLOADS', {
        message: 'Too many requests from callers without credit are being uploaded at once.',
        suggestion:
          'Wait for the time in Retry-After. Live keys of organisations with credit have a separate limit.',
        retryAfterSeconds,
      }),
  };
  const all: BudgetClass = {
    held: none(),
    bytes: Math.max(limits.processBytes, unfunded.bytes + largestBody),
    bodies: limits.processBodies,
    refuse: () => new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds }),
  };
  const callerLimit = {
    bytes: Math.max(limits.callerBytes, largestBody),
    bodies: limits.callerBodies,
    refuse: () => new Fault('TOO_MANY_UPLOADS', { retryAfterSeconds }),
  };

  return {
    get bytes() {
      return all.held.bytes;
    },
    get bodies() {
      return all.held.bodies;
    },
    open({ subject, isFunded }) {
      const own = { ...callerLimit, held: callers.get(subject) ?? none() };
      const classes: readonly BudgetClass[] = isFunded ? [own, all] : [own, unfunded, all];
      add(classes, { bytes: 0, bodies: 1 });
      callers.set(subject, own.held);
      let taken = 0;
      let isOpen = true;
      return {
        take(bytes) {
          add(classes, { bytes, bodies: 0 });
          taken += bytes;
        },
        release() {
          if (!isOpen) return;
          isOpen = false;
          subtract(classes, { bytes: taken, bodies: 1 });
          if (own.held.bodies === 0) callers.delete(subject);
        },
      };
    },
  };
}

/** Adds to all classes or to none. */
function add(classes: readonly BudgetClass[], more: Usage): void {
  for (const { held, bytes, bodies, refuse } of classes) {
    if (held.bodies + more.bodies > bodies || held.bytes + more.bytes > bytes) throw refuse();
  }
  for (const { held } of classes) {
    held.bytes += more.bytes;
    held.bodies += more.bodies;
  }
}

function subtract(classes: readonly BudgetClass[], less: Usage): void {
  for (const { held } of classes) {
    held.bytes -= less.bytes;
    held.bodies -= less.bodies;
  }
}
