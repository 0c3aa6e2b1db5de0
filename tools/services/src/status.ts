import { activeTopology } from './endpoints.ts';
import type { Group, NodeSpec, Topology } from './engine.ts';
import { engines } from './engines/index.ts';
import { isAlive } from './processes.ts';
import { readRecord } from './records.ts';
import { openSite, type SiteOptions } from './site.ts';
import { clientPort, findUnrecorded, groupOf, whyUnready } from './supervisor.ts';

/**
 * ready: the process lives and answers a real request. running: it lives but does not answer (yet).
 * dead: it was started, nobody stopped it, and it is gone. stopped: it is not meant to run.
 */
export type NodeState = 'ready' | 'running' | 'dead' | 'stopped';

export interface NodeStatus {
  readonly engine: string;
  readonly node: string;
  readonly topology: Topology;
  readonly state: NodeState;
  readonly pid: number | null;
  readonly port: number;
  readonly since: string | null;
  /** Why a node is not ready. */
  readonly detail: string;
}

/** Looks at every node now; nothing is taken from memory but the pid. Needs no lock. */
export async function status(options: SiteOptions = {}): Promise<NodeStatus[]> {
  const site = openSite(options);
  const groups = engines.flatMap((engine) =>
    engine.topologies.map((topology) => groupOf(site, engine, topology)),
  );
  const all = await Promise.all(
    groups.map(async (group) => {
      const nodes = await Promise.all(group.nodes.map((node) => nodeStatus(group, node)));
      const inUse = nodes.some((node) => node.state !== 'stopped');
      // The topology that is not in use is not worth a line for each of its nodes.
      const shown =
        inUse ||
        group.topology === activeTopology(site, group.engine.name) ||
        group.engine.topologies.length === 1;
      return shown ? nodes : [];
    }),
  );
  return all.flat();
}

async function nodeStatus(group: Group, node: NodeSpec): Promise<NodeStatus> {
  const { engine, topology } = group;
  const facts = { engine: engine.name, node: node.name, topology, port: clientPort(node) };
  const record = readRecord(group.site, node.name);
  if (record === null || !isAlive(record)) {
    const unrecorded = findUnrecorded(group, node);
    if (unrecorded !== null) {
      const detail = 'started, but not recorded; `up` takes it back';
      return { ...facts, state: 'running', pid: unrecorded.pid, since: null, detail };
    }
    if (record === null) return { ...facts, state: 'stopped', pid: null, since: null, detail: '' };
    const detail = `process ${record.pid} is gone; \`up\` starts it again`;
    return { ...facts, state: 'dead', pid: null, since: null, detail };
  }
  const why = await whyUnready(group, node);
  // It may have died while it was asked.
  if (why !== null && !isAlive(record)) return nodeStatus(group, node);
  return {
    ...facts,
    state: why === null ? 'ready' : 'running',
    pid: record.pid,
    since: record.startedAt,
    detail: why ?? '',
  };
}

/** A table for people. */
export function renderStatus(nodes: readonly NodeStatus[]): string {
  const rows = [
    ['NODE', 'STATE', 'PID', 'PORT', 'SINCE', ''],
    ...nodes.map((node) => [
      node.node,
      node.state,
      node.pid === null ? '-' : String(node.pid),
      String(node.port),
      node.since ?? '-',
      node.detail,
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
