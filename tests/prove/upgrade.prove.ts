import path from 'node:path';
import { migrate } from '@millrace/platform/db';
import { systemClock } from '@millrace/platform/clock';
import { readDeployments } from '@millrace/platform/restate';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { ensureUp } from '@millrace/services';
import { createTestDatabase, eventually, releaseOfTests, unregisterDeploymentsAt } from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import { checkEffects } from './failover/checks.ts';
import { openLoad, startDoubles, waitForEndOfWork, type WriteAndChatLoad } from './failover/load.ts';
import type { WriteKind } from './failover/writers.ts';
import { checkRequests } from './gateway-kill/checker.ts';
import { StallWatch, type Stall } from './stalls.ts';
import {
  comparableResults,
  faultsOf,
  lostStatuses,
  unexpectedErrors,
  unexplainedInterruptions,
} from './upgrade/explanations.ts';
import { buildPreviousRelease, type PreviousRelease } from './upgrade/previous-release.ts';
import { RunningReleases, upgradeOrder, type ProcessRole } from './upgrade/releases.ts';
import { createUpgradeRunner, type UpgradeCommand, type UpgradeReport } from './upgrade/upgrade-command.ts';

export const proof = defineProof({
  name: 'upgrade',
  company: 'alone',
  proves:
    'Two machines run the previous release, built from the commit in db/previous-release.json. Under grants, new keys, rentals, chats and long streams, the schema is migrated, and workers, apis and gateways are replaced one after the other, back, and forward again. In between, processes of both releases are killed with kill -9. Every request that fails was in flight at a killed process, no acknowledged change is lost, each idempotency key has one effect, and the audit is clean. Every rental ends, Restate keeps only the deployment of the new release, and millrace-admin upgrade names the right step at each stage.',
  // Building the previous release needs a registry, and each of the 18 replacements waits until the proxy has noticed it.
  short: null,
  long: prove,
});

const MACHINES = [0, 1] as const;
/** More than HAProxy needs to notice: two checks, each second. */
const LAME_DUCK_MS = 5_000;
/** A long stream lasts 12 s: longer than the lame-duck period, and mostly shorter than the time to a checkpoint. */
const SLOW_PAUSE_MS = 150;
/** More than twice a lease of 120 s, after which a killed gateway is declared dead and its checkpoints are charged. */
const DEAD_AFTER_MS = 300_000;
const STEPS_SHOWN_MS = 60_000;
/** How long the load continues between two stages. */
const STAGE_MS = 10_000;

async function prove(run: ProofRun): Promise<ProofReport> {
  const previous = await buildPreviousRelease(run.note);
  await ensureUp(['postgres', 'valkey', 'nats', 'restate', 'haproxy']);
  await using doubles = await startDoubles(SLOW_PAUSE_MS);
  const database = await createTestDatabase({ isMigrated: false });
  await migrate(database.url, { directory: path.join(previous.folder, 'db/migrations') });
  const stack = await openInferenceStack({
    ...{ database, proxy: 'haproxy', workers: 2, llamas: [], releaseFolder: previous.folder },
    env: {
      ...doubles.env,
      MILLRACE_LAME_DUCK_MS: String(LAME_DUCK_MS),
      // Calls of an ended release are killed after eight of these; the default is two minutes.
      MILLRACE_RESTATE_REGISTER_MS: '5000',
      MILLRACE_POT_OUTAGE_MS: '30000',
      MILLRACE_POT_LONGEST_REQUEST_MS: '60000',
    },
  });
  try {
    const size = { writersPerKind: 2, chatClients: 6, lostStatuses };
    const load = await openLoad(run, stack, { ...size, doubles });
    using watch = new StallWatch();
    const releases = new RunningReleases(stack, run.note);
    const stages = new UpgradeStages(run, { stack, releases, previous });
    const failures = await stages.run();
    run.note('waiting for the last responses');
    await Promise.all([load.writers.end(), load.chatLoad.stop()]);
    const { stalls } = watch;
    failures.push(...(await waitForEndOfWork(stack, DEAD_AFTER_MS)));
    const processes = [...stack.apis, ...stack.gateways, ...stack.workers];
    failures.push(...releases.failures, ...unexpectedErrors(processes));
    return await report(stack, load, { releases, stalls, failures });
  } catch (error) {
    run.note(stack.output().slice(-8_000));
    throw error;
  } finally {
    const port = stack.workers[0]?.env()['MILLRACE_RESTATE_ENDPOINT_PORT'];
    await stack.close();
    await unregisterDeploymentsAt(`http://127.0.0.1:${port}`);
  }
}

interface StageDeps {
  readonly stack: InferenceStack;
  readonly releases: RunningReleases;
  readonly previous: PreviousRelease;
}

type Place = readonly [role: ProcessRole, machine: number];

/** Upgrades, returns and upgrades again under the load, and asks millrace-admin after each step. */
class UpgradeStages {
  readonly #run: ProofRun;
  readonly #deps: StageDeps;
  readonly #command: UpgradeCommand;
  readonly #failures: string[] = [];
  #isMigrated = false;

  constructor(run: ProofRun, deps: StageDeps) {
    this.#run = run;
    this.#deps = deps;
    this.#command = createUpgradeRunner(deps.stack);
  }

  async run(): Promise<string[]> {
    using command = this.#command;
    await this.#stay('the previous release alone');
    await this.#checkSteps();
    await command.run('--migrate');
    this.#isMigrated = true;
    await this.#stay('the previous release on the new schema');
    await this.#checkSteps();
    await this.#upgrade([
      ['worker', 0],
      ['api', 1],
      ['gateway', 0],
    ]);
    await this.#checkCompletion();
    await this.#rollBack([
      ['worker', 1],
      ['api', 0],
      ['gateway', 1],
    ]);
    await this.#upgrade([
      ['worker', 1],
      ['api', 1],
      ['gateway', 0],
    ]);
    await this.#checkCompletion();
    return this.#failures;
  }

  async #upgrade(kills: readonly Place[]): Promise<void> {
    await this.#replaceAll(kills, upgradeOrder, { folder: releaseOfTests, isUpgrade: true });
    await this.#stay('the new release alone');
  }

  async #rollBack(kills: readonly Place[]): Promise<void> {
    const { version, folder } = this.#deps.previous;
    const { steps } = await this.#command.run('--rollback', version);
    const order = upgradeOrder.toReversed();
    const expected = ['done', 'next', 'waiting', 'waiting'];
    this.#expect(expected, steps);
    const titles = steps.slice(1).map(({ title }) => title);
    const named = order.every((role, index) => titles[index]?.endsWith(role) === true);
    if (!named) this.#failures.push(`upgrade --rollback has the order ${titles.join(', ')}`);
    await this.#replaceAll(kills, order, { folder, isUpgrade: false });
    await this.#stay('the previous release alone again');
  }

  /** One machine after the other. Both releases run beside each other for a while, and the kills are then. */
  async #replaceAll(
    kills: readonly Place[],
    order: readonly ProcessRole[],
    target: { readonly folder: string | null; readonly isUpgrade: boolean },
  ): Promise<void> {
    const { releases } = this.#deps;
    for (const machine of MACHINES) {
      for (const role of order) {
        await releases.replace(role, machine, target);
        await this.#checkSteps();
      }
      if (machine !== 0) continue;
      await this.#stay('both releases');
      for (const place of kills) await releases.kill(...place);
    }
  }

  async #stay(stage: string): Promise<void> {
    this.#run.note(stage);
    await systemClock.sleep(STAGE_MS);
  }

  /**
   * The last step depends on Restate, which workers ask from time to time. The command is repeated, because a gateway of a busy
   * machine might not answer it in time.
   */
  async #checkSteps(): Promise<void> {
    const { releases } = this.#deps;
    const done = [true, this.#isMigrated, ...upgradeOrder.map((role) => releases.isUpgraded(role))];
    const next = done.indexOf(false);
    const expected = done.map((isDone, index) => (isDone ? 'done' : index === next ? 'next' : 'waiting'));
    const untilMs = systemClock.monotonicMs() + STEPS_SHOWN_MS;
    for (;;) {
      const { steps } = await this.#command.run();
      const found = steps.slice(0, expected.length);
      const isShown = found.map(({ state }) => state).join() === expected.join();
      if (isShown || systemClock.monotonicMs() >= untilMs) return this.#expect(expected, found);
      await systemClock.sleep(1_000);
    }
  }

  async #checkCompletion(): Promise<void> {
    const what = 'the deployments of earlier releases to be removed';
    await eventually({ what, timeoutMs: 180_000 }, async () => {
      const { steps } = await this.#command.run();
      return steps.every(({ state }) => state === 'done');
    });
    const { release } = await this.#command.run();
    const { natsPrefix, endpoints } = this.#deps.stack;
    const options = { url: endpoints.restate.adminUrl };
    const deployments = await readDeployments(options, (name) => name.startsWith(natsPrefix));
    const names = deployments.map((each) => each.release ?? each.uri);
    if (names.join() !== release) this.#failures.push(`Restate has deployments of ${names.join(', ')}`);
  }

  #expect(expected: readonly string[], steps: UpgradeReport['steps']): void {
    const found = steps.map(({ state }) => state);
    if (found.join() === expected.join()) return;
    const lines = steps.map(
      ({ title, state, lines: details }) => `${title}: ${state} (${details.join(' ')})`,
    );
    const failure = `upgrade should show ${expected.join(', ')}, and shows ${lines.join('; ')}`;
    this.#failures.push(failure);
    this.#run.note(failure);
  }
}

async function report(
  stack: InferenceStack,
  load: WriteAndChatLoad,
  happened: {
    readonly releases: RunningReleases;
    readonly stalls: readonly Stall[];
    readonly failures: readonly string[];
  },
): Promise<ProofReport> {
  const { releases, stalls, failures } = happened;
  const { kills } = releases;
  const injected = faultsOf(kills);
  const chats = await checkRequests(stack, load.tenants, comparableResults(load.chats), { injected, stalls });
  const { acknowledged, interruptions } = load.writers;
  const count = (kind: WriteKind): number => acknowledged.filter((each) => each.kind === kind).length;
  return {
    figures: {
      'processes replaced': releases.replacements,
      'kill -9 of a worker': kills.filter(({ role }) => role === 'worker').length,
      'kill -9 of an api': kills.filter(({ role }) => role === 'api').length,
      'kill -9 of a gateway': kills.filter(({ role }) => role === 'gateway').length,
      'grants acknowledged': count('grant'),
      'keys created': count('key'),
      'rentals created': count('rental'),
      'rentals terminated': count('termination'),
      'changes interrupted and repeated with their key': interruptions.length,
      ...Object.fromEntries(
        Object.entries(chats.figures).map(([name, figure]) => [`chats: ${name}`, figure] as const),
      ),
    },
    failures: [
      ...failures,
      ...unexplainedInterruptions(interruptions, { kills, stalls }),
      ...(await checkEffects(stack, load)),
      ...chats.failures,
    ],
  };
}
