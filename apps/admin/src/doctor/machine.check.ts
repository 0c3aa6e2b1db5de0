import { dirname } from 'node:path';
import type { Check, CheckContext } from './check.ts';
import { finding, unresponsiveFolder, type Finding } from './finding.ts';
import { backupFolder } from './postgres.check.ts';

const GIBIBYTE = 1_073_741_824;
const FILE_LIMIT = 8_192;

/** Folders with data of the engines. Those that do not exist here are skipped. */
const dataFolders = [
  '/var/lib/postgresql',
  '/var/lib/millrace',
  '/var/lib/millrace/etcd',
  '/var/lib/millrace/postgres',
  '/var/lib/millrace/nats',
  '/var/lib/millrace/restate',
];

/** Patroni starts PostgreSQL on each of three machines, and Debian's unit is disabled there. */
const postgresUnits = (isOneOfThree: boolean): readonly string[] =>
  isOneOfThree
    ? ['millrace-etcd.service', 'millrace-patroni.service', 'millrace-internal.service']
    : ['postgresql.service'];

const otherUnits = [
  'millrace.target',
  'millrace-nats.service',
  'millrace-valkey.service',
  'millrace-restate.service',
  'millrace-api.service',
  'millrace-worker.service',
  'millrace-gateway.service',
  'millrace-proxy.service',
  'millrace-backup.timer',
] as const;

/** Disks, time synchronisation and the units of systemd. */
export const machineCheck: Check = {
  id: 'machine',
  title: 'Machine',
  run: async (context) => {
    const disks = await checkDisks(context);
    if (!context.effects.hasSystemd()) return disks;
    const isOneOfThree = context.installation.internal['SELF'] !== undefined;
    const units = [...postgresUnits(isOneOfThree), ...otherUnits];
    const ofUnits = await Promise.all(units.map((unit) => checkUnit(context, unit)));
    return [...disks, ...(await checkTime(context)), ...ofUnits.flat()];
  },
};

async function checkDisks({ installation, effects }: CheckContext): Promise<readonly Finding[]> {
  const backups = backupFolder(installation.environment('admin'));
  const folders = [installation.folder, ...dataFolders, backups, dirname(backups)];
  const spaces = await Promise.all(folders.map((path) => effects.freeSpace(path)));
  const seen = new Set<number>();
  return folders.flatMap((path, index): readonly Finding[] => {
    const space = spaces[index] ?? null;
    if (space === 'unresponsive') return [unresponsiveFolder(path)];
    if (space === null || seen.has(space.device)) return [];
    seen.add(space.device);
    const { freeBytes, totalBytes } = space;
    if (freeBytes >= GIBIBYTE && freeBytes * 10 >= totalBytes) return [];
    const problem = `The disk of ${path} has ${freeBytes} of ${totalBytes} bytes left.`;
    return [finding('disk-full', path, problem, { path })];
  });
}

/** A container has the clock of its host, which must be synchronised there. */
async function checkTime({ effects }: CheckContext): Promise<readonly Finding[]> {
  const container = await effects.run('systemd-detect-virt', ['--container', '--quiet']);
  if (container?.code === 0) return [];
  const time = await effects.run('timedatectl', ['show', '--property=NTPSynchronized', '--value']);
  if (time?.output.trim() !== 'no') return [];
  return [finding('clock-not-synchronised', 'machine', 'The clock of this machine is not synchronised.')];
}

async function checkUnit({ effects }: CheckContext, unit: string): Promise<readonly Finding[]> {
  const properties = 'LoadState,ActiveState,UnitFileState,LimitNOFILE';
  const shown = await effects.run('systemctl', ['show', unit, `--property=${properties}`]);
  const values = new Map(
    (shown?.output ?? '').split('\n').map((line) => line.split('=') as [string, string]),
  );
  // An engine may run on another machine, or have been started in another way. An operator may have masked a unit.
  if (values.get('LoadState') !== 'loaded') return [];
  const name = unit.replace('.service', '');
  const limit = Number(values.get('LimitNOFILE'));
  const hasFewFiles =
    !Number.isNaN(limit) && limit > 0 && limit < FILE_LIMIT && !/\.(?:timer|target)$/.test(unit);
  const state = values.get('UnitFileState') ?? '';
  return [
    ...(values.get('ActiveState') === 'failed'
      ? [finding('unit-failed', name, `${unit} has failed.`, { unit })]
      : []),
    ...(state === 'disabled' ? [finding('unit-disabled', name, `${unit} is ${state}.`, { unit })] : []),
    ...(hasFewFiles ? [finding('file-limit', name, `${unit} may open only ${limit} files.`, { unit })] : []),
  ];
}
