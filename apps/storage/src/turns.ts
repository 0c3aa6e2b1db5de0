/** Work under one name waits for what was begun under it before; work under different names does not. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  isBusy(name: string): boolean {
    return this.#last.has(name);
  }

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const turn = before.then(work, work);
    // Only the order counts here; how it went is told to whoever asked.
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  /** Resolves when nothing is under way. */
  async settle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
