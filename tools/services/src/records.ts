import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import type { Topology } from './engine.ts';
import { isAlive, type ProcessIdentity } from './processes.ts';
import { writeAtomically, type Site } from './site.ts';

/** Stored for each started node and removed by a clean stop, so a record without its process means a crash. */
export interface NodeRecord extends ProcessIdentity {
  readonly node: string;
  readonly engine: string;
  readonly topology: Topology;
  readonly startedAt: string;
}

function recordFile(site: Site, nodeName: string): string {
  return path.join(site.stateDir, 'run', `${nodeName}.json`);
}

export function writeRecord(site: Site, record: NodeRecord): void {
  writeAtomically(recordFile(site, record.node), `${JSON.stringify(record)}\n`);
}

export function removeRecord(site: Site, nodeName: string): void {
  rmSync(recordFile(site, nodeName), { force: true });
}

/** An unreadable record counts as absent: `up` finds the node by its command line, or starts it. */
export function readRecord(site: Site, nodeName: string): NodeRecord | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(recordFile(site, nodeName), 'utf8'));
    return isRecord(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is NodeRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, ...texts } = { pid: undefined, ...value } as Record<string, unknown>;
  return (
    Number.isInteger(pid) &&
    ['startTicks', 'bootId', 'node', 'engine', 'topology', 'startedAt'].every(
      (name) => typeof texts[name] === 'string',
    )
  );
}

export function liveRecord(site: Site, nodeName: string): NodeRecord | null {
  const record = readRecord(site, nodeName);
  return record !== null && isAlive(record) ? record : null;
}

export function listRecords(site: Site): NodeRecord[] {
  let names: string[];
  try {
    names = readdirSync(path.join(site.stateDir, 'run'));
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .map((name) => readRecord(site, name.slice(0, -'.json'.length)))
    .filter((record) => record !== null);
}
