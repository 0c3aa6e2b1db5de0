/** Bounded queue of requests that wait for capacity at a model, fair between organisations and in order within each. */

export interface WaitQueueLimits {
  readonly maxWaiting: number;
  readonly maxWaitingPerOrganisation: number;
  /** Requests with a longer expected wait are refused at once; requests that waited this long are refused then. */
  readonly maxWaitMs: number;
}

export interface QueuedItem {
  readonly orgId: string;
}

export class WaitQueue<Waiter extends QueuedItem> {
  readonly #limits: WaitQueueLimits;
  /** In the order of turns: a served organisation moves to the end. */
  readonly #byOrganisation = new Map<string, Waiter[]>();
  #size = 0;

  constructor(limits: WaitQueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Number of requests ahead of a new one of this organisation; null if the queue is full. */
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

  /** Returns false if it was not in the queue. */
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
   * Offers capacity to each organisation in turn until `serve` returns `stop`. `served` removes the request; `passed` keeps it,
   * because another organisation might be able to use the capacity.
   */
  offer(serve: (waiter: Waiter) => 'served' | 'passed' | 'stop'): void {
    for (const [orgId, waiters] of this.#byOrganisation) {
      const [first] = waiters;
      if (first === undefined) throw new Error('An organisation without waiters is in the queue.');
      const response = serve(first);
      if (response === 'stop') return;
      if (response === 'passed') continue;
      waiters.shift();
      this.#size -= 1;
      // Move to the end, so that this loop offers another turn after all others.
      this.#byOrganisation.delete(orgId);
      if (waiters.length > 0) this.#byOrganisation.set(orgId, waiters);
    }
  }
}
