import { UnsupportedHostError, defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import {
  diskFault,
  machineFault,
  primaryOf,
  roleFault,
  roleNames,
  type Fault,
} from '../install/three-machines/faults.ts';
import { check, installMillrace, loadOptions, rentAndChat } from '../install/three-machines/installation.ts';
import {
  checkLedger,
  describeResult,
  failuresOf,
  measureWithoutFault,
  repeatsOf,
  injectFault,
  type KillResult,
} from '../install/three-machines/kills.ts';
import { loadKinds, startLoad, type Load } from '../install/three-machines/load.ts';
import {
  openThreeMachines,
  type ClusterMachine,
  type ThreeMachines,
} from '../install/three-machines/machines.ts';

export const proof = defineProof({
  name: 'three-machines',
  company: 'alone',
  proves:
    'The guide for three machines is followed on bare Debian in containers with addresses of their own. Under chats, reads, writes with idempotency keys, rentals and requests of the console, each machine loses its network and all processes at once, each role of the machine with the primary is killed with kill -9, and a machine is replaced with an empty disk. Clients use the machine where the fault is, and change to another one when they get no answer. No request gets a 500. New rentals, chats and the console work after each fault, each machine joins again, each write has one effect, and the full audit is clean.',
  // tests/install/three-machines.release.test.ts is the short form.
  short: null,
  long: prove,
});

const BASELINE_MS = 30_000;

async function prove(run: ProofRun): Promise<ProofReport> {
  if (process.getuid?.() !== 0) throw new UnsupportedHostError('the proof needs root for its containers.');
  await using cluster = await openThreeMachines();
  await installMillrace(cluster);
  await check(cluster);
  await rentAndChat(cluster);
  run.note('the installation is complete');
  using load = startLoad(cluster, await loadOptions(cluster));
  const results = await injectAll(run, cluster, load);
  await load.end();
  const failures = [...failuresOf(load), ...(await checkLedger(cluster, load))];
  return { figures: figuresOf(results, load), failures };
}

/** Each machine, a disk, and each role where the primary is at that moment. Stops at the first failure. */
async function injectAll(run: ProofRun, cluster: ThreeMachines, load: Load): Promise<readonly KillResult[]> {
  const results = [await measureWithoutFault(load, BASELINE_MS)];
  const { machines } = cluster;
  type FaultAt = (primary: ClusterMachine) => Fault;
  const faults: readonly FaultAt[] = [
    ...machines.map((machine) => () => machineFault(machine)),
    ...roleNames.map(
      (role): FaultAt =>
        (primary) =>
          roleFault(role, primary),
    ),
    // The guide replaces the last machine.
    ...machines.slice(-1).map((machine) => () => diskFault(cluster, machine)),
  ];
  for (const faultAt of faults) {
    const primary = await primaryOf(cluster);
    const fault = faultAt(primary);
    const result = await injectFault(cluster, load, fault);
    const title = fault.machine === primary ? `${result.title}, which has the primary` : result.title;
    results.push({ ...result, title });
    run.note(`${title}: ${describeResult(result)}`);
    if (failuresOf(load).length > 0) break;
  }
  return results;
}

function figuresOf(results: readonly KillResult[], load: Load): ProofReport['figures'] {
  const successes = loadKinds.map((kind) => {
    const count = load.events.filter((event) => event.kind === kind && 'tookMs' in event).length;
    return [`successful requests: ${kind}`, count] as const;
  });
  const repeats = Object.entries(repeatsOf(load)).map(
    ([title, count]) => [`repeated: ${title}`, count] as const,
  );
  return {
    'values of a fault':
      'p50 / p95 / worst gap between two successes; then the time from its start until all members have joined',
    ...Object.fromEntries(results.map((result) => [result.title, describeResult(result)])),
    ...Object.fromEntries([...successes, ...repeats]),
  };
}
