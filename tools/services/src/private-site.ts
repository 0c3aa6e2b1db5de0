import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { onTestFinished } from 'vitest';

import { down, status, type NodeState } from './index.ts';
import { claimFreeBlock } from './port-claims.ts';
import { defaultCacheDir, portSpan } from './site.ts';

export interface PrivateSite {
  readonly stateDir: string;
  readonly portBase: number;
}

/**
 * A state folder and a block of ports of the test's own, so that nobody's engines are disturbed. Whatever the
 * test leaves running is stopped and removed when it ends.
 */
export async function createPrivateSite(): Promise<PrivateSite> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const stateDir = path.join(folder, 's');
  // Files and whole suites that run side by side begin their search at different places: it is short then.
  const claimant = { stateDir, cacheDir: defaultCacheDir() };
  const portBase = await claimFreeBlock(claimant, 19_000 + (process.pid % 100) * portSpan);
  const place = { stateDir, portBase };
  onTestFinished(async () => {
    await down([], { stateDir, purge: true });
    rmSync(folder, { recursive: true, force: true });
  });
  return place;
}

/** Node name to state, for short assertions. */
export async function states(place: PrivateSite): Promise<Record<string, NodeState>> {
  const nodes = await status(place);
  return Object.fromEntries(nodes.map((node) => [node.node, node.state]));
}

export async function pidOf(place: PrivateSite, node: string): Promise<number> {
  const found = (await status(place)).find((candidate) => candidate.node === node);
  if (found?.pid == null) throw new Error(`${node} has no process`);
  return found.pid;
}
