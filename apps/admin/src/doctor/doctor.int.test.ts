import { systemClock } from '@millrace/platform/clock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestInstallation } from './doctor.fixture.ts';
import { natsFaults, postgresFaults, restateFaults, valkeyFaults } from './engine-faults.fixture.ts';
import type { Fault } from './fault.fixture.ts';
import { certificateFaults, fileFaults, machineFaults, processFaults } from './faults.fixture.ts';
import { fleetFaults } from './fleet-faults.fixture.ts';
import type { Finding } from './finding.ts';

/** An installation on real engines, with one fault after the other. */

let installation: TestInstallation;
beforeAll(async () => {
  installation = await TestInstallation.open();
});
afterAll(() => installation[Symbol.asyncDispose]());

/** Processes notice every fault in this time, also on a busy machine. */
const NOTICED_MS = 60_000;

const idsOf = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ id, component }) => `${id}@${component}`).toSorted();

async function expectFindings({ expected, inject }: Fault): Promise<readonly Finding[]> {
  const wanted = expected.map((each) => each.replace('FOLDER', installation.folder)).toSorted();
  let found: readonly Finding[] = [];
  let isFound = false;
  const deadlineMs = systemClock.monotonicMs() + NOTICED_MS;
  while (!isFound && systemClock.monotonicMs() < deadlineMs) {
    found = await installation.doctor(inject?.(installation));
    isFound = JSON.stringify(idsOf(found)) === JSON.stringify(wanted);
  }
  // The texts of unexpected findings explain a failure.
  expect(
    isFound ? wanted : found.map(({ id, component, problem }) => `${id}@${component}: ${problem}`),
  ).toEqual(wanted);
  return found;
}

async function checkFault(fault: Fault): Promise<void> {
  const undo = await fault.make?.(installation);
  try {
    for (const { remedy } of await expectFindings(fault)) {
      expect(remedy.length).toBeGreaterThan(10);
      expect(remedy).not.toMatch(/\{\w+\}/);
    }
  } finally {
    // The next fault, and the end of the group, would find what this leaves.
    await undo?.();
  }
}

test('doctor finds nothing in a healthy installation', () => installation.untilHealthy());

describe.each(
  Object.entries({
    files: fileFaults,
    certificates: certificateFaults,
    PostgreSQL: postgresFaults,
    NATS: natsFaults,
    Valkey: valkeyFaults,
    Restate: restateFaults,
    processes: processFaults,
    machine: machineFaults,
    fleet: fleetFaults,
  }),
)('doctor and %s', (_group, faults) => {
  test.each(faults)('finds exactly $title', async (fault) => checkFault(fault));
  test('finds nothing after the faults are repaired', () => installation.untilHealthy());
});

test('doctor reports a stopped PostgreSQL once, although all processes need it', async () => {
  await installation.postgres.crash();
  await expectFindings({ title: '', expected: ['postgres-unreachable@postgres'] });
});
