import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { killNode, status, type NodeStatus } from '@millrace/services';
import { scaledLimitMs } from '@millrace/testing';
import { waitWhileProgress } from './timing/progress.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** On a machine of the promised speed. The short form does not check times. */
const formedWithinSeconds = 120;
const foundWithinSeconds = 10;

/** Engines that `up` starts only by name. */
const startedByName: ReadonlySet<string> = new Set(['incus-host', 'ironic']);

export const proof = defineProof({
  name: 'services',
  proves:
    'One command starts every engine with three NATS and three Restate nodes, finds them running the second time, reports correctly which node died, and repairs it.',
  short: (each) => prove(each, 'short', (nodes) => [each.random.pick(nodes)]),
  long: (each) => prove(each, 'long', (nodes) => nodes),
});

async function prove(
  { note }: ProofRun,
  form: 'short' | 'long',
  choose: (nodes: readonly string[]) => readonly string[],
): Promise<ProofReport> {
  const folder = mkdtempSync(join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const stateDir = join(folder, 's');
  const services = (...words: string[]) =>
    run('npm', ['run', '--silent', 'services', '--', ...words, '--state', stateDir], { cwd: root });
  const failures: string[] = [];
  try {
    const looked = async () =>
      (await status({ stateDir })).filter(({ engine }) => !startedByName.has(engine));
    const formed = await secondsOf(() => services('up', '--cluster', '--port-base', 'auto'));
    const first = new Map((await looked()).map(({ node, pid }) => [node, pid]));
    const found = await secondsOf(() => services('up'));
    for (const { node, pid } of await looked())
      if (pid === null || first.get(node) !== pid) failures.push(`the second up started ${node} again`);
    if (form === 'long') {
      if (formed > scaledLimitMs(formedWithinSeconds)) failures.push(`the first up took ${formed} s`);
      if (found > scaledLimitMs(foundWithinSeconds)) failures.push(`the second up took ${found} s`);
    }
    const nodes = [...first.keys()];
    const victims = choose(nodes);
    let slowestHealing = 0;
    for (const victim of victims) {
      note(`killing ${victim}`);
      await killNode(victim, { stateDir });
      failures.push(...stateErrors(victim, await looked()));
      slowestHealing = Math.max(slowestHealing, await secondsOf(() => services('up')));
      failures.push(...(await unreadyAfter(victim, looked)));
    }
    return {
      figures: {
        nodes: nodes.length,
        'first up --cluster, packages present': `${formed} s`,
        'second up': `${found} s`,
        'killed with kill -9, each reported correctly': victims.length,
        'slowest repair': `${slowestHealing} s`,
      },
      failures,
    };
  } finally {
    await services('down', '--purge');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Polls until all nodes are ready, because a node might not respond in time during a stall. */
async function unreadyAfter(victim: string, looked: () => Promise<readonly NodeStatus[]>): Promise<string[]> {
  let unready: readonly NodeStatus[] = [];
  await waitWhileProgress({ stuckAfterMs: 120_000 }, async () => {
    unready = (await looked()).filter(({ state }) => state !== 'ready');
    return unready.length === 0 ? null : unready.map(({ node, state }) => `${node} ${state}`).join();
  });
  return unready.map(
    ({ node, state, detail }) => `${node} is ${state} after ${victim} was repaired: ${detail}`,
  );
}

/** The killed node must be dead and the others alive. Members that still agree on the loss are `running`. */
function stateErrors(victim: string, nodes: readonly NodeStatus[]): string[] {
  return nodes
    .filter(({ node, state }) =>
      node === victim ? state !== 'dead' : state !== 'ready' && state !== 'running',
    )
    .map(({ node, state }) => `${node} is reported as ${state} after ${victim} was killed`);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return Math.round((performance.now() - started) / 100) / 10;
}
