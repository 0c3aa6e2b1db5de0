import { UnsupportedHostError, defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { ensureUp } from '@millrace/services';
import {
  createPatroniDatabase,
  eventually,
  startPatroniCluster,
  type PatroniCluster,
} from '@millrace/testing';
import { openInferenceStack } from '../stack/inference-stack.ts';
import { checkAfterFailovers } from './failover/checks.ts';
import { failOver, figuresOf, type Failover, type FailoverKind } from './failover/failovers.ts';
import {
  openLoad,
  SLOW_MODEL,
  startDoubles,
  waitForEndOfWork,
  type LoadSize,
  type WriteAndChatLoad,
} from './failover/load.ts';

export const proof = defineProof({
  name: 'failover',
  company: 'alone',
  proves:
    'Two apis, two gateways and two workers use a Patroni cluster of three PostgreSQL servers with the settings that we ship (ttl 20 s, synchronous, strict). Under grants, new keys, rentals, chats and long streams, the primary is changed by switchovers and by kill -9 of Patroni and PostgreSQL together. No acknowledged change is lost and each request has one effect. No request gets a 500, no stream is cut, writes succeed again within 45 s, and the full audit is clean.',
  // One switchover and one kill take more than a minute, and the release tests lose a machine of three too.
  short: null,
  long: (run) => prove(run, { kinds: tenOfEach(run), writersPerKind: 2, chatClients: 4 }),
});

interface Size extends LoadSize {
  readonly kinds: readonly FailoverKind[];
}

const WARM_UP_MS = 3_000;

function tenOfEach(run: ProofRun): FailoverKind[] {
  const each = Array.from({ length: 10 }, (): FailoverKind[] => ['switchover', 'kill']);
  return run.random.shuffle(each.flat());
}

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  if (process.getuid?.() !== 0) throw new UnsupportedHostError('the proof needs root for PID namespaces.');
  await ensureUp(['haproxy', 'patroni', 'postgres']);
  await using cluster = await startPatroniCluster();
  await using doubles = await startDoubles();
  const stack = await openInferenceStack({
    proxy: 'haproxy',
    workers: 2,
    llamas: [],
    database: await createPatroniDatabase(cluster),
    env: doubles.env,
  });
  try {
    const load = await openLoad(run, stack, { ...size, doubles });
    await systemClock.sleep(WARM_UP_MS);
    const failovers = await failAll(run, cluster, load, size);
    run.note('waiting for the last responses');
    await Promise.all([load.writers.end(), load.chatLoad.stop()]);
    const failures = [
      ...(await waitForEndOfWork(stack)),
      ...failovers.flatMap(({ failures: each }) => each),
      ...(await checkAfterFailovers(stack, load)),
    ];
    return { figures: figuresOf(failovers, load), failures };
  } catch (error) {
    for (const { name, output } of [...stack.apis, ...stack.workers, ...stack.gateways]) {
      run.note(`--- ${name}\n${output().slice(-3_000)}`);
    }
    run.note(cluster.output());
    throw error;
  } finally {
    await stack.close();
  }
}

async function failAll(
  run: ProofRun,
  cluster: PatroniCluster,
  load: WriteAndChatLoad,
  { kinds }: Size,
): Promise<Failover[]> {
  const failovers: Failover[] = [];
  for (const kind of kinds) {
    await untilStreamsAreOpen(load);
    failovers.push(await failOver(run, cluster, kind, load));
    if (load.writers.failures.length > 0) break;
  }
  return failovers;
}

/** A stream that opened before the fault must be open during it. */
async function untilStreamsAreOpen({ chats }: WriteAndChatLoad): Promise<void> {
  await eventually({ what: 'an open stream', timeoutMs: 300_000 }, () =>
    chats.some(({ endedMs, hasReceivedData, question }) => {
      return endedMs === 0 && hasReceivedData && question.model === SLOW_MODEL;
    }),
  );
}
