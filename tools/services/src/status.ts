import { activeTopology } from './endpoints.ts';
import type { Group, NodeSpec, Topology } from './engine.ts';
import { engines } from './engines/index.ts';
import { isAlive } from './processes.ts';
import { readRecord } from './records.ts';
import { openSite, type SiteOptions } from './site.ts';
import { clientPort, findUnrecorded, groupOf, whyUnready } from './supervisor.ts';

/**
 * ready: the process answers a real request. running: it does not answer (yet). dead: it was started, not stopped, and has ended.
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
  readonly detail: string;
}

/** Checks every node now; only the pid comes from a record. Needs no lock. */
export async function status(options: SiteOptions = {}): Promise<NodeStatus[]> {
  const site = openSite(options);
  const groups = engines.flatMap((engine) =>
    engine.topologies.map((topology) => groupOf(site, engine, topology)),
  );
  const all = await Promise.all(
    groups.map(async (group) => {
      const nodes = await Promise.all(group.nodes.map((node) => nodeStatus(group, node)));
      const inUse = nodes.some((node) => node.state !== 'stopped');
      // Nodes of an unused topology are not listed.
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
      const detail = 'started, but not recorded; `up` adopts it';
      return { ...facts, state: 'running', pid: unrecorded.pid, since: null, detail };
    }
    if (record === null) return { ...facts, state: 'stopped', pid: null, since: null, detail: '' };
    const detail = `process ${record.pid} has ended; \`up\` starts it again`;
    return { ...facts, state: 'dead', pid: null, since: null, detail };
  }
  const why = await whyUnready(group, node);
  // The process may have died during the check.
  if (why !== null && !isAlive(record)) return nodeStatus(group, node);
  return {
    ...facts,
    state: why === null ? 'ready' : 'running',
    pid: record.pid,
    since: record.startedAt,
    detail: why ?? '',
  };
}

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
