import { eventually } from '@millrace/testing';
import path from 'node:path';
import { readGuide, report, SLOW_MS, startLlama, waitUntilReady } from '../guide-machine.ts';
import type { LoadOptions } from './load.ts';
import type { ClusterMachine, ThreeMachines } from './machines.ts';

/** Follows the guide from step 3, and then the first rental and chat of the guide for one machine. */

const guide = readGuide('three-machines.md');
const oneMachine = readGuide('install.md');
/** Of the guide for one machine. */
const LLAMA_PORT = 8_000;
/** The load of the test exceeds the limits of a new organisation. */
const limits = ['DEFAULT', 'FUNDED', 'ANONYMOUS', 'PERSON'].map(
  (name) => `MILLRACE_RATE_LIMIT_${name}_RPM=1000000`,
);

export async function installMillrace({ machines }: ThreeMachines): Promise<void> {
  const [first, ...others] = machines as [ClusterMachine, ...ClusterMachine[]];
  await guide.follow(first, '3. The first machine');
  await first.must('cp /etc/millrace/admin/join.json .');
  for (const machine of others) {
    await machine.must('install -m 600 join.json /root/join.json');
    await guide.follow(machine, '4. The other machines');
  }
  await first.must('rm join.json');
  const [startPostgres, prepareDatabase, startMillrace, ...more] = guide.commandsOf('5. Start');
  if (startMillrace === undefined || more.length > 0) throw new Error('Step 5 has other commands.');
  const onEach = (commands = ''): Promise<unknown> =>
    Promise.all(machines.map((machine) => machine.must(commands)));
  await onEach(`printf '%s\\n' ${limits.join(' ')} >> /etc/millrace/millrace.env`);
  await onEach(startPostgres);
  await timed('5. init with the database', () => first.must(prepareDatabase ?? ''));
  await onEach(startMillrace);
  await timed('5. all ready', () => Promise.all(machines.map(waitUntilReady)));
}

/** After `lost.replace()`: follows the guide with the names that it uses, so `lost` is the machine c. */
export async function replaceDisk(cluster: ThreeMachines, lost: ClusterMachine): Promise<void> {
  const [survivor] = cluster.machines.filter((machine) => machine !== lost) as [ClusterMachine];
  const commands = guide.commandsOf('If a disk is lost');
  const [removeMember, join, stopRestate, provision, startAll, ...more] = commands;
  if (startAll === undefined || more.length > 0) throw new Error('The section has other commands.');
  const onEach = (script = ''): Promise<unknown> =>
    Promise.all(cluster.machines.map((machine) => machine.must(script)));
  await survivor.must(removeMember ?? '');
  await survivor.must('cp /etc/millrace/admin/join.json .');
  await lost.must('install -m 600 join.json /root/join.json && rm join.json');
  await timed('join with a new disk', () => lost.must(join ?? ''));
  await lost.must(`printf '%s\\n' ${limits.join(' ')} >> /etc/millrace/millrace.env`);
  await onEach(stopRestate);
  await survivor.must(provision ?? '');
  await onEach(startAll);
  await startLlama({ must: lost.must, shared: cluster.shared }, { port: LLAMA_PORT });
}

/** Runs the commands of a step until each succeeds, because some service may still be starting on a slow machine. */
export async function check({ machines }: ThreeMachines): Promise<void> {
  for (const machine of machines) {
    for (const command of guide.commandsOf('6. Check')) {
      let printed = '';
      await eventually(
        { what: `${command} on ${machine.name}`, timeoutMs: SLOW_MS, intervalMs: 1_000 },
        async () => {
          const { code, stdout, stderr } = await machine.run(command);
          printed = stdout + stderr;
          return code === 0;
        },
      ).catch((error: unknown) => {
        throw new Error(`On ${machine.name}:\n${command}\n${printed}`, { cause: error });
      });
    }
  }
}

/**
 * The commands of the guide for one machine, without the login: a simulated machine is on loopback of the machine whose worker
 * started it. Each machine has a llama-server, because each gateway calls that of its machine.
 */
export async function rentAndChat({ machines, shared }: ThreeMachines): Promise<string> {
  await Promise.all(machines.map(({ must }) => startLlama({ must, shared }, { port: LLAMA_PORT })));
  const [first] = machines as [ClusterMachine];
  const blocks = oneMachine.commandsOf('5. First machine and first model');
  const printed: string[] = [];
  for (const block of blocks) printed.push(await first.must(block.replace(/^millrace ssh .*\n/m, '')));
  return printed.join('');
}

/** For clients of the organisation of the guide, with the rights of its operator. */
export async function loadOptions({ machines, shared }: ThreeMachines): Promise<LoadOptions> {
  const [first] = machines as [ClusterMachine];
  const createKey = async (mode: string): Promise<CreatedKey> => {
    const flags = `--organisation example-cloud --email ada@example.com --mode ${mode} --json`;
    return JSON.parse(await first.must(`millrace-admin key create ${flags}`)) as CreatedKey;
  };
  const [live, testing] = [await createKey('live'), await createKey('test')];
  await first.must('cp /etc/millrace/ca.pem .');
  return {
    addresses: machines.map(({ address }) => address),
    caFile: path.join(shared, 'ca.pem'),
    keys: { live: live.key, test: testing.key },
    organisationId: live.organisationId,
    model: 'tiny',
    region: (await queryDatabase(first, 'select region from rentals limit 1')).trim(),
  };
}

interface CreatedKey {
  readonly organisationId: string;
  readonly key: string;
}

/** Reads the database on this machine, also of a standby. */
export const queryDatabase = ({ must }: ClusterMachine, query: string): Promise<string> =>
  must(`runuser -u postgres -- psql -Atd millrace -c "${query}"`);

export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  report(`${what}: ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  return result;
}
