import { systemClock } from '@millrace/platform/clock';

/** Base class of proofs in stages: collects failures and times each stage. */
export class Stages {
  readonly failures: string[] = [];
  readonly #note: (line: string) => void;

  constructor(note: (line: string) => void) {
    this.#note = note;
  }

  protected expect(holds: boolean, otherwise: string): void {
    if (holds) return;
    this.failures.push(otherwise);
    this.#note(`failed: ${otherwise}`);
  }

  protected async timed(what: string, work: () => Promise<unknown>): Promise<string> {
    const startedMs = systemClock.monotonicMs();
    await work();
    const took = `${((systemClock.monotonicMs() - startedMs) * 0.001).toFixed(1)} s`;
    this.#note(`${what}: ${took}`);
    return took;
  }
}
