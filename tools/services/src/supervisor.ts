import type { Engine, Group, NodeSpec, Note, Topology } from './engine.ts';
import { Failure, messageOf } from './failure.ts';
import { isPortFree, portHolder } from './ports.ts';
import {
  allPids,
  commandLine,
  identify,
  isAlive,
  killProcess,
  launchDaemon,
  stopProcess,
  tail,
  type ProcessIdentity,
} from './processes.ts';
import { liveRecord, readRecord, removeRecord, writeRecord } from './records.ts';
import { knownHome, logFile, type Site } from './site.ts';
import { eventually, sleep, timestamp } from './time.ts';

// The callers in commands.ts hold the lock of the state folder.

/** An engine without this topology runs as a single node. */
export function groupOf(site: Site, engine: Engine, topology: Topology | undefined): Group {
  const used = topology !== undefined && engine.topologies.includes(topology) ? topology : 'single';
  return { site, engine, topology: used, nodes: engine.nodes(site, used) };
}

export async function startGroup(group: Group, note: Note): Promise<'already' | 'started'> {
  const unready = await unreadyNodes(group);
  if (unready.length === 0) return 'already';
  const down = group.nodes.filter((node) => liveRecord(group.site, node.name) === null);
  for (const node of down) await startNodeProcess(group, node, note);
  await formAndWaitReady(group, group.nodes, note);
  return 'started';
}

async function unreadyNodes(group: Group): Promise<NodeSpec[]> {
  const unready = await Promise.all(
    group.nodes.map(async (node) => (await whyUnready(group, node)) !== null),
  );
  return group.nodes.filter((_, index) => unready[index] === true);
}

/** Why a node is not ready, or null. Checks for 3 s, because a node of a cluster may refuse calls during a leader election. */
export async function whyUnready(group: Group, node: NodeSpec): Promise<string | null> {
  const record = readRecord(group.site, node.name);
  if (record === null) return 'not started';
  if (!isAlive(record)) return 'process has ended';
  try {
    await eventually({ timeoutMs: 3000, intervalMs: 200, giveUp: () => assertAlive(record) }, () =>
      group.engine.ready(group, node),
    );
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function assertAlive(identity: ProcessIdentity): void {
  if (!isAlive(identity)) throw new Error('process has ended');
}

/** Starts one node and waits until it is ready; the other nodes of its group may be down. */
export async function startGroupNode(group: Group, node: NodeSpec, note: Note): Promise<void> {
  if ((await whyUnready(group, node)) === null) return;
  if (liveRecord(group.site, node.name) === null) await startNodeProcess(group, node, note);
  await formAndWaitReady(group, [node], note);
}

/** Starts a process, or adopts a running one whose record was lost when this tool crashed. */
async function startNodeProcess(group: Group, node: NodeSpec, note: Note): Promise<void> {
  if (adopt(group, node, note)) return;
  await group.engine.configure(group, node, note);
  await assertPortsFree(node);
  note(`starting ${node.name}`);
  await launch(group, node);
}

async function launch(group: Group, node: NodeSpec): Promise<void> {
  const identity = await launchDaemon(group.engine.start(group, node), logFile(group.site, node.name));
  record(group, node, identity);
}

/** Finds a process by its command line, in case the tool was killed between starting and recording it. */
export function findUnrecorded(group: Group, node: NodeSpec): ProcessIdentity | null {
  const { file, args } = group.engine.start(group, node);
  // A launcher such as setpriv replaces itself with the command at the end of its own command line.
  const whole = [file, ...args].join(' ');
  const own = `${knownHome(group.site, node.name)}/`;
  const pid = allPids().find((candidate) => {
    const command = commandLine(candidate);
    return command.includes(own) && whole.endsWith(command);
  });
  return pid === undefined ? null : identify(pid);
}

function adopt(group: Group, node: NodeSpec, note: Note): boolean {
  const identity = findUnrecorded(group, node);
  if (identity === null) return false;
  note(`${node.name} already runs as process ${identity.pid}; adopting it`);
  record(group, node, identity);
  return true;
}

function record(group: Group, node: NodeSpec, identity: ProcessIdentity): void {
  const { engine, topology } = group;
  const facts = { node: node.name, engine: engine.name, topology, startedAt: timestamp() };
  writeRecord(group.site, { ...identity, ...facts });
}

export function clientPort(node: NodeSpec): number {
  const [port] = Object.values(node.ports);
  if (port === undefined) throw new Error(`node ${node.name} has no port`);
  return port;
}

export async function takenPort(group: Group): Promise<Failure | null> {
  try {
    await Promise.all(group.nodes.map(assertPortsFree));
    return null;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Retries, because the ports of a process that just died stay taken for a moment. */
async function assertPortsFree(node: NodeSpec): Promise<void> {
  for (const port of Object.values(node.ports)) {
    const free = await eventually({ timeoutMs: 2000, intervalMs: 100 }, async () => {
      if (!(await isPortFree(port))) throw new Error('taken');
    }).then(
      () => true,
      () => false,
    );
    if (!free) throw portTaken(node, port);
  }
}

function portTaken(node: NodeSpec, port: number): Failure {
  const holder = portHolder(port);
  const who = holder === null ? 'a process that you cannot see' : `process ${holder.pid} (${holder.command})`;
  return new Failure(
    `Port ${port}, which ${node.name} needs, is held by ${who}.`,
    'Stop that process, or use another --state folder with `--port-base auto`.',
  );
}

/** Forms the group and waits until its nodes are ready; restarts a node that failed for a transient reason. */
async function formAndWaitReady(group: Group, nodes: readonly NodeSpec[], note: Note): Promise<void> {
  for (let retriesLeft = 5; ; retriesLeft -= 1) {
    try {
      return await formAndWaitReadyOnce(group, nodes, note);
    } catch (error) {
      if (!(error instanceof NodeDied)) throw error;
      const log = tail(logFile(group.site, error.node.name));
      if (retriesLeft === 0 || group.engine.transientFailure?.test(log) !== true) {
        throw nodeDiedError(group, error.node, log);
      }
      await sleep(1000);
      await launch(group, error.node);
    }
  }
}

async function formAndWaitReadyOnce(group: Group, nodes: readonly NodeSpec[], note: Note): Promise<void> {
  const { engine, site } = group;
  const giveUp = (): void => {
    const dead = nodes.find((node) => liveRecord(site, node.name) === null);
    if (dead !== undefined) throw new NodeDied(dead);
  };
  const waiting = { timeoutMs: engine.readyTimeoutMs, intervalMs: 50, giveUp };
  const attempt = async (node: NodeSpec, step: () => Promise<void>): Promise<void> => {
    try {
      await eventually(waiting, step);
    } catch (error) {
      throw error instanceof NodeDied ? error : notReadyError(group, node, error);
    }
  };
  const [first] = nodes;
  if (first !== undefined) await attempt(first, async () => engine.form?.(group, note));
  await Promise.all(nodes.map((node) => attempt(node, () => engine.ready(group, node))));
}

class NodeDied extends Error {
  readonly node: NodeSpec;

  constructor(node: NodeSpec) {
    super(`${node.name} died`);
    this.node = node;
  }
}

function nodeDiedError(group: Group, node: NodeSpec, log: string): Failure {
  return new Failure(
    `${node.name} ended while it was starting.`,
    `The end of its log is below; the full log is ${logFile(group.site, node.name)}.`,
    log,
  );
}

function notReadyError(group: Group, node: NodeSpec, error: unknown): Failure {
  return new Failure(
    `${node.name} runs but did not become ready in time: ${messageOf(error)}`,
    `The end of its log is below; the full log is ${logFile(group.site, node.name)}. Run \`up\` again to continue waiting.`,
    tail(logFile(group.site, node.name)),
  );
}

/** Stops every process of a group, last node first, and then releases mounts and bridges. */
export async function stopGroup(group: Group, note: Note): Promise<number> {
  const lowered = await Promise.all(group.nodes.toReversed().map((node) => stopGroupNode(group, node, note)));
  await group.engine.release?.(group);
  return lowered.filter(Boolean).length;
}

export async function stopGroupNode(group: Group, node: NodeSpec, note: Note): Promise<boolean> {
  const known = readRecord(group.site, node.name);
  const live = known !== null && isAlive(known) ? known : findUnrecorded(group, node);
  if (live !== null) {
    const { stop, stopInCluster = stop } = group.engine;
    const how = await stopProcess(live, group.topology === 'cluster' ? stopInCluster : stop);
    note(how === 'stopped' ? `${node.name} stopped` : `${node.name} did not stop and was killed`);
  }
  removeRecord(group.site, node.name);
  return live !== null;
}

/** Kills the process and keeps its record, so that `status` reports the node as dead. */
export async function killGroupNode(group: Group, node: NodeSpec): Promise<void> {
  const record = liveRecord(group.site, node.name);
  if (record === null) {
    throw new Failure(`${node.name} does not run, so it cannot be killed.`, 'Start it with `up`.');
  }
  await killProcess(record);
}
