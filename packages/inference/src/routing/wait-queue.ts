/** Those who wait for room at a model: bounded, in order within an organisation, organisations in turn. */

export interface WaitQueueLimits {
  readonly maxWaiting: number;
  /** So that one organisation cannot fill it. */
  readonly maxWaitingPerOrganisation: number;
  /** Who would wait longer is not let in; who has waited so long is sent away. */
  readonly maxWaitMs: number;
}

export interface QueuedItem {
  readonly orgId: string;
}

export class WaitQueue<Waiter extends QueuedItem> {
  readonly #limits: WaitQueueLimits;
  /** In the order of their turns: who was served goes to the end. */
  readonly #byOrganisation = new Map<string, Waiter[]>();
  #size = 0;

  constructor(limits: WaitQueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** How many go before a newcomer of this organisation; null when there is no place for it. */
  placeFor(orgId: string): number | null {
    const own = this.#byOrganisation.get(orgId)?.length ?? 0;
    const { maxWaiting, maxWaitingPerOrganisation } = this.#limits;
    if (this.#size >= maxWaiting || own >= maxWaitingPerOrganisation) return null;
    let before = own;
    for (const [other, waiters] of this.#byOrganisation) {
      if (other !== orgId) before += Math.min(waiters.length, own + 1);
    }
    return before;
  }

  add(waiter: Waiter): void {
    const waiters = this.#byOrganisation.get(waiter.orgId);
    if (waiters === undefined) this.#byOrganisation.set(waiter.orgId, [waiter]);
    else waiters.push(waiter);
    this.#size += 1;
  }

  /** False when it was not in line any more. */
  remove(waiter: Waiter): boolean {
    const waiters = this.#byOrganisation.get(waiter.orgId);
    const at = waiters?.indexOf(waiter) ?? -1;
    if (waiters === undefined || at === -1) return false;
    waiters.splice(at, 1);
    if (waiters.length === 0) this.#byOrganisation.delete(waiter.orgId);
    this.#size -= 1;
    return true;
  }

  /**
   * Offers the room to those at the front, each organisation's first in its turn, until `serve` says `stop`. `served` takes
   * the one out; `passed` leaves it where it is and asks the next organisation, for whom there may be room all the same.
   */
  offer(serve: (waiter: Waiter) => 'served' | 'passed' | 'stop'): void {
    for (const [orgId, waiters] of this.#byOrganisation) {
      const [first] = waiters;
      if (first === undefined) throw new Error('An organisation without waiters stands in line.');
      const response = serve(first);
      if (response === 'stop') return;
      if (response === 'passed') continue;
      waiters.shift();
      this.#size -= 1;
      // To the end, where this very loop comes by again when all others have had their turn.
      this.#byOrganisation.delete(orgId);
      if (waiters.length > 0) this.#byOrganisation.set(orgId, waiters);
    }
  }
}
