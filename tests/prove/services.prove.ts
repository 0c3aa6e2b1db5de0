import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/kits';
import { killNode, status, type NodeStatus } from '@millrace/services';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

const formedWithinSeconds = 120;
const foundWithinSeconds = 10;

/** Engines that a plain `up` leaves alone. */
const startedByName: ReadonlySet<string> = new Set(['incus-host', 'ironic']);

/** The engines as a developer meets them: through the command, in a folder of their own. */
export const proof = defineProof({
  name: 'services',
  proves:
    'One command brings up every engine with three NATS and three Restate nodes, finds them up the second time, tells truthfully which one died, and heals it.',
  short: (each) => prove(each, (nodes) => [each.random.pick(nodes)]),
  long: (each) => prove(each, (nodes) => nodes),
});

async function prove(
  { note }: ProofRun,
  choose: (nodes: readonly string[]) => readonly string[],
): Promise<ProofReport> {
  const folder = mkdtempSync(join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const stateDir = join(folder, 's');
  const services = (...words: string[]) =>
    run('npm', ['run', '--silent', 'services', '--', ...words, '--state', stateDir], { cwd: root });
  const failures: string[] = [];
  try {
    const formed = await secondsOf(() => services('up', '--cluster', '--port-base', 'auto'));
    const found = await secondsOf(() => services('up'));
    if (formed > formedWithinSeconds) failures.push(`the first up took ${formed} s`);
    if (found > foundWithinSeconds) failures.push(`the second up took ${found} s`);
    const looked = async () =>
      (await status({ stateDir })).filter(({ engine }) => !startedByName.has(engine));
    const nodes = (await looked()).map(({ node }) => node);
    const victims = choose(nodes);
    let slowestHealing = 0;
    for (const victim of victims) {
      note(`killing ${victim}`);
      await killNode(victim, { stateDir });
      failures.push(...judge(victim, await looked()));
      slowestHealing = Math.max(slowestHealing, await secondsOf(() => services('up')));
      const unready = (await looked()).filter(({ state }) => state !== 'ready');
      for (const { node, state } of unready) failures.push(`${node} is ${state} after ${victim} was healed`);
    }
    return {
      figures: {
        nodes: nodes.length,
        'first up --cluster, packages present': `${formed} s`,
        'second up': `${found} s`,
        'killed with kill -9, each told truthfully': victims.length,
        'slowest healing': `${slowestHealing} s`,
      },
      failures,
    };
  } finally {
    await services('down', '--purge');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The killed node is dead; the others live. A member may still be agreeing on the loss, which is `running`. */
function judge(victim: string, nodes: readonly NodeStatus[]): string[] {
  return nodes
    .filter(({ node, state }) =>
      node === victim ? state !== 'dead' : state !== 'ready' && state !== 'running',
    )
    .map(({ node, state }) => `${node} is told to be ${state} after ${victim} was killed`);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return Math.round((performance.now() - began) / 100) / 10;
}
