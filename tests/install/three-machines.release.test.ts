import { afterAll, beforeAll, expect, test } from 'vitest';
import { report } from './guide-machine.ts';
import { machineFault, primaryOf } from './three-machines/faults.ts';
import { check, installMillrace, loadOptions, rentAndChat } from './three-machines/installation.ts';
import { checkLedger, describeResult, failuresOf, repeatsOf, injectFault } from './three-machines/kills.ts';
import { startLoad } from './three-machines/load.ts';
import { openThreeMachines, type ThreeMachines } from './three-machines/machines.ts';

// Follows the guide on three Debian machines. The tests are in the order of the guide, and each continues where the one before it
// ended. `npm run prove -- three-machines` also kills the other machines, and every role.

let cluster: ThreeMachines;

beforeAll(async () => {
  cluster = await openThreeMachines();
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('1 to 6: three machines become one installation, and doctor finds nothing on each', async () => {
  await installMillrace(cluster);
  await check(cluster);
});

test('a rental on the simulated fleet, and a chat with llama-server', async () => {
  const printed = await rentAndChat(cluster);
  expect(printed).toMatch(/Rental \d+ \(first\) is running/);
  expect(printed).toMatch(/Terminated rental \d+ \(first\)/);
  expect(printed).toMatch(/tiny .*\$0\.000/);
});

test('without the machine of the primary everything continues, and the machine joins again', async () => {
  using load = startLoad(cluster, await loadOptions(cluster));
  const primary = await primaryOf(cluster);
  const result = await injectFault(cluster, load, machineFault(primary));
  await load.end();
  report(`${result.title}, p50 / p95 / worst gap: ${describeResult(result)}`);
  report(JSON.stringify(repeatsOf(load)));
  expect(failuresOf(load)).toEqual([]);
  expect(await checkLedger(cluster, load)).toEqual([]);
});
