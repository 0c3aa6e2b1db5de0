import { eventually } from '@millrace/testing';
import { SLOW_MS } from '../guide-machine.ts';
import { replaceDisk } from './installation.ts';
import type { ClusterMachine, ThreeMachines } from './machines.ts';

/** Kills of machines and roles, and the check that all have joined again. */

export interface Fault {
  readonly title: string;
  readonly machine: ClusterMachine;
  readonly inject: () => Promise<void>;
  /** Null: systemd starts it again. */
  readonly repair: (() => Promise<void>) | null;
}

const KILL = 'systemctl kill --signal KILL';
const POSTMASTER = '/var/lib/millrace/postgres/data/postmaster.pid';

/** Commands that end every process of a role at once. Patroni is killed with its PostgreSQL. */
const roles: Readonly<Record<string, string>> = {
  api: `${KILL} millrace-api`,
  worker: `${KILL} millrace-worker`,
  gateway: `${KILL} millrace-gateway`,
  'public proxy': `${KILL} millrace-proxy`,
  'internal proxy': `${KILL} millrace-internal`,
  Valkey: `${KILL} millrace-valkey`,
  NATS: `${KILL} millrace-nats`,
  Restate: `${KILL} millrace-restate`,
  etcd: `${KILL} millrace-etcd`,
  PostgreSQL: `kill -KILL $(head -1 ${POSTMASTER})`,
  'Patroni and PostgreSQL': `${KILL} millrace-patroni`,
};

export const machineFault = (machine: ClusterMachine): Fault => ({
  title: `machine ${machine.name}`,
  machine,
  inject: machine.kill,
  repair: machine.boot,
});

/** The machine returns with an empty disk. */
export const diskFault = (cluster: ThreeMachines, machine: ClusterMachine): Fault => ({
  title: `disk of ${machine.name}`,
  machine,
  inject: machine.kill,
  repair: async () => {
    await machine.replace();
    await replaceDisk(cluster, machine);
  },
});

export const roleNames: readonly string[] = Object.keys(roles);

export const roleFault = (role: string, machine: ClusterMachine): Fault => ({
  title: `${role} of ${machine.name}`,
  machine,
  inject: async () => void (await machine.must(roles[role] ?? '')),
  repair: null,
});

interface Member {
  readonly Member: string;
  readonly Role: string;
  readonly State: string;
}

const membersSeenBy = async (machine: ClusterMachine): Promise<readonly Member[]> =>
  JSON.parse(await machine.must('patronictl -c /etc/millrace/patroni list -f json')) as readonly Member[];

/** The machine with the primary of PostgreSQL, and so with the Valkey in use. */
export async function primaryOf({ machines }: ThreeMachines): Promise<ClusterMachine> {
  const [any] = machines as [ClusterMachine];
  const leader = (await membersSeenBy(any)).find(({ Role }) => Role === 'Leader');
  const found = machines.find(({ name }) => name === leader?.Member);
  if (found === undefined) throw new Error('No machine has the primary.');
  return found;
}

/** On each machine, engines and processes are ready, and every cluster has all three members. */
export async function untilComplete({ machines }: ThreeMachines): Promise<void> {
  for (const machine of machines) {
    let problem = '';
    await eventually({ what: `machine ${machine.name}`, timeoutMs: SLOW_MS, intervalMs: 500 }, async () => {
      problem = await problemOf(machine);
      return problem === '';
    }).catch((error: unknown) => {
      throw new Error(`Machine ${machine.name} has not joined: ${problem}`, { cause: error });
    });
  }
}

/** Restate responds on its own port, and not through the internal proxy. */
const checks = [
  '. /etc/millrace/admin/etcdctl.env && etcdctl endpoint health 2>&1',
  'curl -fsS http://127.0.0.1:8222/healthz',
  'curl -fsS http://127.0.0.1:8180/restate/health',
  'curl -fsS http://127.0.0.1:8081/readyz',
  'curl -fsS http://127.0.0.1:8083/readyz',
  'curl -fsS --cacert /etc/millrace/ca.pem https://cloud.example.com/readyz',
  'for role in proxy internal api gateway worker valkey nats restate etcd patroni; do systemctl is-active millrace-$role; done',
].join('\n');

async function problemOf(machine: ClusterMachine): Promise<string> {
  const { code, stdout, stderr } = await machine.run(checks);
  if (code !== 0) return stdout + stderr;
  const members = await membersSeenBy(machine);
  const roleNames = members
    .map(({ Role }) => Role)
    .toSorted()
    .join(', ');
  const areRunning = members.every(({ State }) => State === 'running' || State === 'streaming');
  if (areRunning && roleNames === 'Leader, Replica, Sync Standby') return '';
  return JSON.stringify(members);
}
