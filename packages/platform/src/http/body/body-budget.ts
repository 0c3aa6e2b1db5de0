import { Fault } from '../../fault/index.ts';

/**
 * The memory that request bodies may hold while they arrive: for the whole process, for each caller, and for all callers
 * without funds together. Bytes count when they have arrived, not when they are announced: a slow client holds what it has
 * sent and no more.
 */
export interface BodyBudget {
  /** A share for one body, without any bytes yet. Throws a `Fault` if the caller, its class or the process has too many. */
  open(caller: BodyCaller): BodyReservation;
  readonly bytes: number;
  readonly bodies: number;
}

export interface BodyCaller {
  /** The organisation, the person or the block of addresses that the body counts for. */
  readonly subject: string;
  /** Callers without funds can be made in any number at no cost, so they have one small share in common. */
  readonly isFunded: boolean;
}

export interface BodyReservation {
  /** Throws a `Fault` if there is no such room left. */
  take(bytes: number): void;
  /** Gives all of it back: only when its memory was freed. A second call does nothing. */
  release(): void;
}

export interface BodyBudgetLimits {
  readonly processBytes: number;
  readonly processBodies: number;
  /** Of all callers without funds together. */
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

/** `largestBody`: a body of this size fits for each caller, and for a funded one also beside a full share of the others. */
export function createBodyBudget(limits: BodyBudgetLimits, largestBody = 0): BodyBudget {
  const callers = new Map<string, Usage>();
  const unfunded: BudgetClass = {
    held: none(),
    bytes: Math.max(limits.unfundedBytes, largestBody),
    bodies: limits.unfundedBodies,
    refuse: () =>
      new Fault('TOO_MANY_UPLOADS', {
        message: 'Too many request bodies of callers without credit are arriving at once.',
        suggestion:
          'Wait as long as Retry-After says. Live keys of organisations with credit have room of their own.',
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

/** To all of the classes or to none. */
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
