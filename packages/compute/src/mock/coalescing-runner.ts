/** Runs work one at a time. Calls during a run share the next one, so no result was started before its call. */
export class CoalescingRunner<T> {
  readonly #work: () => Promise<T>;
  #last: Promise<unknown> = Promise.resolve();
  #waiting: Promise<T> | null = null;
  #underWay = 0;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  run(): Promise<T> {
    this.#waiting ??= this.#last.then(() => this.#start());
    return this.#waiting;
  }

  get hasWaiting(): boolean {
    return this.#waiting !== null;
  }

  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting === null;
  }

  /** Resolves when all requested runs have ended, with or without an error. */
  async settled(): Promise<void> {
    await (this.#waiting ?? this.#last).catch(() => undefined);
  }

  async #start(): Promise<T> {
    this.#waiting = null;
    this.#underWay += 1;
    const run = this.#work().finally(() => {
      this.#underWay -= 1;
    });
    this.#last = run.catch(() => undefined);
    return run;
  }
}
