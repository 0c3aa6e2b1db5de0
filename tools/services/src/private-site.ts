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

/** Creates a state folder and a block of ports for one test. The end of the test stops all processes and deletes the folder. */
export async function createPrivateSite(): Promise<PrivateSite> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const stateDir = path.join(folder, 's');
  // Concurrent test files start their search at different blocks, which keeps it short.
  const claimant = { stateDir, cacheDir: defaultCacheDir() };
  const portBase = await claimFreeBlock(claimant, 19_000 + (process.pid % 100) * portSpan);
  const place = { stateDir, portBase };
  onTestFinished(async () => {
    await down([], { stateDir, purge: true });
    rmSync(folder, { recursive: true, force: true });
  });
  return place;
}

export async function states(place: PrivateSite): Promise<Record<string, NodeState>> {
  const nodes = await status(place);
  return Object.fromEntries(nodes.map((node) => [node.node, node.state]));
}

export async function pidOf(place: PrivateSite, node: string): Promise<number> {
  const found = (await status(place)).find((candidate) => candidate.node === node);
  if (found?.pid == null) throw new Error(`${node} has no process`);
  return found.pid;
}
