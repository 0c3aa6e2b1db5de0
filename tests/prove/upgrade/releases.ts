import { systemClock } from '@millrace/platform/clock';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { untilAllReady } from '../../stack/public-proxy.ts';
import type { SupervisedProcess } from '../../stack/supervised-process.ts';

export type ProcessRole = 'worker' | 'api' | 'gateway';

/** A kill -9. The process starts again later. */
export interface Kill {
  readonly role: ProcessRole;
  readonly name: string;
  readonly struckMs: number;
}

/** The order of an upgrade; a return has the opposite one. */
export const upgradeOrder: readonly ProcessRole[] = ['worker', 'api', 'gateway'];

const DOWN_MS = 1_000;

/** Replaces the processes of one release by those of another, as the guide says, and knows which process has which release. */
export class RunningReleases {
  readonly failures: string[] = [];
  readonly kills: Kill[] = [];
  replacements = 0;
  readonly #stack: InferenceStack;
  readonly #note: (line: string) => void;
  readonly #upgraded = new Set<SupervisedProcess>();

  constructor(stack: InferenceStack, note: (line: string) => void) {
    this.#stack = stack;
    this.#note = note;
  }

  /** Stops one process gracefully while all others serve, and starts the same process of the other release. */
  async replace(
    role: ProcessRole,
    machine: number,
    { folder, isUpgrade }: { readonly folder: string | null; readonly isUpgrade: boolean },
  ): Promise<void> {
    const replaced = this.#process(role, machine);
    await this.#untilReady();
    const code = await replaced.stop();
    if (code !== 0) {
      const failure = `${replaced.name} ended with ${code}: ${linesOfDrain(replaced).join(' ')}`;
      this.failures.push(failure);
      this.#note(failure);
    }
    replaced.useRelease(folder);
    await replaced.start();
    if (isUpgrade) this.#upgraded.add(replaced);
    else this.#upgraded.delete(replaced);
    this.replacements += 1;
    this.#note(`${replaced.name} has the ${isUpgrade ? 'new' : 'previous'} release`);
  }

  /** kill -9, then the same release again. */
  async kill(role: ProcessRole, machine: number): Promise<void> {
    const victim = this.#process(role, machine);
    await this.#untilReady();
    this.kills.push({ role, name: victim.name, struckMs: systemClock.monotonicMs() });
    await victim.kill();
    await systemClock.sleep(DOWN_MS);
    await victim.start();
    this.#note(`${victim.name} was killed with kill -9`);
  }

  /** Whether each process of the role has the new release. */
  isUpgraded(role: ProcessRole): boolean {
    return this.#processes(role).every((each) => this.#upgraded.has(each));
  }

  #processes(role: ProcessRole): readonly SupervisedProcess[] {
    const { workers, apis, gateways } = this.#stack;
    return { worker: workers, api: apis, gateway: gateways }[role];
  }

  #process(role: ProcessRole, machine: number): SupervisedProcess {
    const found = this.#processes(role)[machine];
    if (found === undefined) throw new Error(`Machine ${machine} has no ${role}.`);
    return found;
  }

  async #untilReady(): Promise<void> {
    if (this.#stack.proxy !== null) await untilAllReady(this.#stack.proxy);
  }
}

const linesOfDrain = ({ output }: SupervisedProcess): readonly string[] =>
  output()
    .split('\n')
    .filter((line) => /drain/.test(line))
    .slice(-3);
