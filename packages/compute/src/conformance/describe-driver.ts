import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeAccess } from './access.ts';
import { describeCrashes } from './crash.ts';
import { describeGpus } from './gpus.ts';
import { describeInvalidInput } from './invalid-input.ts';
import { describeExecAndMetrics } from './exec-and-metrics.ts';
import { describeCreation, describeTermination } from './create-and-terminate.ts';
import { describeLists } from './lists.ts';
import { describePower } from './power.ts';
import { describeReadiness } from './readiness.ts';
import { Suite } from './suite-context.ts';
import { describeUserData } from './user-data.ts';
import type { DriverHarness } from './harness.ts';

export interface SuiteOptions {
  /** Limits for one test and for one that kills something. Real engines need more than the mock. */
  readonly testTimeoutMs?: number;
  readonly crashTimeoutMs?: number;
  /** For starting and stopping the engine. */
  readonly hookTimeoutMs?: number;
  /** Limits the suite to these sections if another harness runs the rest; default all. */
  readonly sections?: readonly SuiteSection[] | undefined;
}

export type SuiteSection =
  | 'creation'
  | 'ending'
  | 'power'
  | 'GPUs'
  | 'access'
  | 'proof'
  | 'user data'
  | 'inside'
  | 'lists and events'
  | 'refusals'
  | 'crashes';

/** Registers the conformance suite. Tests are independent; each uses its own ids and deletes its machines. */
export function describeDriver(name: string, harness: DriverHarness, options: SuiteOptions = {}): void {
  const { testTimeoutMs = 20_000, crashTimeoutMs = 60_000, hookTimeoutMs = 60_000 } = options;
  describe(`the ${name} driver`, { timeout: testTimeoutMs }, () => {
    const stage = new Suite(harness);
    beforeAll(() => stage.open(), hookTimeoutMs);
    afterEach(() => stage.clear(), crashTimeoutMs);
    afterAll(() => stage.close(), hookTimeoutMs);

    it('can matches the features of the engine', () => {
      expect(stage.driver.can).toEqual(harness.abilities);
    });
    const sections: Readonly<Record<SuiteSection, () => void>> = {
      creation: () => describeCreation(stage),
      ending: () => describeTermination(stage),
      power: () => describePower(stage),
      GPUs: () => describeGpus(stage),
      access: () => describeAccess(stage),
      proof: () => describeReadiness(stage),
      'user data': () => describeUserData(stage),
      inside: () => describeExecAndMetrics(stage),
      'lists and events': () => describeLists(stage),
      refusals: () => describeInvalidInput(stage),
      crashes: () => describeCrashes(stage, crashTimeoutMs),
    };
    const chosen = Object.entries(sections).filter(
      ([part]) => options.sections?.some((wanted) => wanted === part) ?? true,
    );
    for (const [part, register] of chosen) {
      describe(part, () => {
        register();
      });
    }
  });
}
