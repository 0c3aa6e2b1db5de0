/**
 * Runs a piece of work one at a time. Whoever asks while it runs gets the run after it, shared with all who ask meanwhile:
 * nobody gets an outcome that was begun before they asked, and however many ask, there is one running and one waiting.
 */
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

  /** Whether a run was asked for that has not begun. */
  get hasWaiting(): boolean {
    return this.#waiting !== null;
  }

  /** Whether nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting === null;
  }

  /** When all that was asked for until now is done, however it ended. */
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
